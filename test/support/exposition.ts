/** A strict reader of the text format of Prometheus: what breaks a rule of the format throws. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly samples: readonly Sample[];
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const TYPES = ["counter", "gauge", "histogram", "summary", "untyped"];
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(.*)\})? ([+-]?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|Inf)|NaN)(?: (\d+))?$/;

function labelsOf(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  let rest = text;
  while (rest !== "") {
    const read = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/.exec(rest);
    if (read === null) throw new Error(`labels: ${text}`);
    const [whole, name, value] = read as unknown as [string, string, string];
    if (Object.hasOwn(labels, name)) throw new Error(`label ${name} is there twice: ${text}`);
    labels[name] = value;
    rest = rest.slice(whole.length);
  }
  return labels;
}

const suffixes: Readonly<Record<string, readonly string[]>> = {
  histogram: ["_bucket", "_sum", "_count"],
  summary: ["", "_sum", "_count"],
};

export function readExposition(text: string): Family[] {
  if (!text.endsWith("\n")) throw new Error("the last line has no end");
  const families: (Family & { samples: Sample[] })[] = [];
  const series = new Set<string>();
  let help: { name: string; help: string } | undefined;
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const comment = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line);
    if (comment !== null) {
      const [, kind, name, said] = comment as unknown as [string, string, string, string];
      if (!NAME.test(name)) throw new Error(`name: ${line}`);
      if (kind === "HELP") help = { name, help: said };
      else {
        if (help?.name !== name) throw new Error(`a type without its help before it: ${line}`);
        if (!TYPES.includes(said)) throw new Error(`type: ${line}`);
        if (families.some((family) => family.name === name)) throw new Error(`${name} is there twice`);
        families.push({ name, help: help.help, type: said, samples: [] });
      }
      continue;
    }
    const read = SAMPLE.exec(line);
    if (read === null) throw new Error(`not a sample: ${line}`);
    const [, name, , labels = "", value] = read as unknown as [string, string, string, string | undefined, string];
    const family = families.at(-1);
    const allowed = (suffixes[family?.type ?? ""] ?? [""]).map((suffix) => `${family?.name}${suffix}`);
    if (!allowed.includes(name)) throw new Error(`${name} stands under ${family?.name}`);
    const sample = { name, labels: labelsOf(labels), value: Number(value.replace("Inf", "Infinity")) };
    const key = `${name} ${JSON.stringify(Object.entries(sample.labels).sort())}`;
    if (series.has(key)) throw new Error(`the series ${key} is there twice`);
    series.add(key);
    family!.samples.push(sample);
  }
  return families;
}
