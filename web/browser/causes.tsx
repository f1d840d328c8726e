/** What is wrong, each root once, worst first, with what to do about it: the same list as every command has. */
import type { Cause } from "../../src/daemons/index.ts";
import { adviceWords } from "../../src/surfaces/cli/advice.ts";
import { printable } from "../../src/surfaces/cli/text.ts";
import { causeLink } from "../../src/surfaces/why/links.ts";
import { Badge, Time, type Tone, Words } from "./parts.tsx";

const TONE: Readonly<Record<Cause["level"], Tone>> = { bad: "bad", warn: "warn", note: "plain" };
const WORD: Readonly<Record<Cause["level"], string>> = { bad: "now", warn: "a look", note: "goes on by itself" };

export const Causes = ({ causes }: { causes: readonly Cause[] }) =>
  causes.length === 0 ? (
    <div class="empty">
      <p>
        <Badge tone="good">Nothing needs you.</Badge>
      </p>
    </div>
  ) : (
    <ul class="causes">
      {causes.map((cause) => (
        <li key={`${cause.code} ${cause.subject}`} class={TONE[cause.level]}>
          <Badge tone={TONE[cause.level]}>{WORD[cause.level]}</Badge>
          <div>
            <p>
              <a href={causeLink(cause)}>{printable(cause.what)}</a>
              {cause.since !== null && (
                <span class="dim">
                  {" "}
                  for <Time at={cause.since} bare />
                </span>
              )}
            </p>
            {adviceWords(cause.advice) !== "" && (
              <p class="dim">
                <Words text={adviceWords(cause.advice)} />
              </p>
            )}
          </div>
        </li>
      ))}
    </ul>
  );
