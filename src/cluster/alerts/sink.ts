import { createHmac } from "node:crypto";
import { type Clock, type Log, OperatingError } from "../../kernel/index.ts";
import type { AlertSeverity, AlertSnapshot } from "./alert.ts";
import type { AlertSummary } from "./alert-outbox.ts";
import { type Fetch, post } from "./post.ts";

/** What is told. The key is the same for every try of one message, so that a receiver can drop repeats. */
export type AlertMessage = { readonly id: number; readonly idempotencyKey: string; readonly transition: string } & (
  | { readonly kind: "alert"; readonly alert: AlertSnapshot }
  | { readonly kind: "summary"; readonly summary: AlertSummary }
);

/** Where alerts go. */
export interface AlertSink {
  readonly name: string;
  /** Milder ones are not sent there. */
  readonly minSeverity: AlertSeverity;
  /** Resolves once the other side has it; rejects with ALERT_NOT_DELIVERED, retryable or not. */
  deliver(message: AlertMessage, signal: AbortSignal): Promise<void>;
}

const verb = ({ transition }: AlertMessage): string => transition.replace(/-\d+$/, "");

const headline = (message: AlertMessage): string => {
  if (message.kind === "alert") return `[${message.alert.severity}] ${message.alert.title} (${verb(message)})`;
  const { changes, by_severity } = message.summary;
  const counts = Object.entries(by_severity).filter(([, n]) => n > 0);
  return `${changes} alerts changed: ${counts.map(([severity, n]) => `${n} ${severity}`).join(", ")}`;
};

/** Lines in the log of the program. */
export function logSink(log: Log, minSeverity: AlertSeverity = "info"): AlertSink {
  return {
    name: "log",
    minSeverity,
    async deliver(message) {
      const fields =
        message.kind === "alert"
          ? {
              alert_id: message.alert.id,
              severity: message.alert.severity,
              count: message.alert.count,
              text: message.alert.message,
            }
          : { ...message.summary };
      const calm = message.kind === "alert" && (message.alert.status !== "open" || message.alert.severity === "info");
      log[calm ? "info" : "warn"](headline(message), fields);
    },
  };
}

export interface HttpSinkOptions {
  /** Where to; it may hold a secret and is never repeated. */
  readonly url: string;
  readonly clock: Clock;
  readonly minSeverity?: AlertSeverity;
  readonly timeoutMs?: number;
  readonly fetch?: Fetch;
}

export interface WebhookSinkOptions extends HttpSinkOptions {
  /** Signs what is sent. */
  readonly secret?: (() => string) | undefined;
}

/** Only addresses that one can post to, and no credentials in them: those would end up in logs on the way. */
export function checkedUrl(url: string, sink: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol) || parsed.username !== "" || parsed.password !== "")
    throw OperatingError.invalid("INVALID_ALERT_SINK", `the address of the alert sink '${sink}' cannot be used`, {
      hint: "It must begin with http:// or https:// and contain no user name or password.",
    });
  return parsed;
}

/** The body is signed with the time at which it was sent, so that nobody can send it again later. */
const signatureOf = (secret: string, atSeconds: number, body: string): string =>
  `t=${atSeconds},v1=${createHmac("sha256", secret).update(`${atSeconds}.${body}`).digest("hex")}`;

/** JSON by POST, with an idempotency key and, where there is a secret, a signature. */
export function webhookSink({ secret, clock, minSeverity = "warning", ...options }: WebhookSinkOptions): AlertSink {
  const url = checkedUrl(options.url, "webhook");
  return {
    name: "webhook",
    minSeverity,
    deliver(message, signal) {
      const { kind, idempotencyKey: idempotency_key } = message;
      const about = message.kind === "alert" ? { alert: message.alert } : { summary: message.summary };
      const body = JSON.stringify({ type: kind, transition: verb(message), idempotency_key, ...about });
      const sentAt = Math.floor(clock.now() / 1_000);
      return post(
        { ...options, url, clock },
        body,
        {
          "idempotency-key": idempotency_key,
          ...(secret === undefined ? {} : { "x-ringrift-signature": signatureOf(secret(), sentAt, body) }),
        },
        signal,
      );
    },
  };
}

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").slice(0, 2_900);

const detail = (message: AlertMessage): string => {
  if (message.kind === "alert") {
    const { message: text, count, id } = message.alert;
    return `${escaped(text)}\n${count === 1 ? "" : `seen ${count} times, `}\`${id}\``;
  }
  const lines = message.summary.alerts.map(
    ({ severity, title, transition }) => `[${severity}] ${title} (${transition})`,
  );
  return escaped(lines.join("\n"));
};

/** The shape that Slack and those who follow it take. */
export function slackSink({ clock, minSeverity = "warning", ...options }: HttpSinkOptions): AlertSink {
  const url = checkedUrl(options.url, "slack");
  return {
    name: "slack",
    minSeverity,
    deliver(message, signal) {
      const head = escaped(headline(message));
      const blocks = [
        { type: "section", text: { type: "mrkdwn", text: `*${head}*` } },
        { type: "section", text: { type: "mrkdwn", text: detail(message) } },
      ];
      const headers = { "idempotency-key": message.idempotencyKey };
      return post({ ...options, url, clock }, JSON.stringify({ text: head, blocks }), headers, signal);
    },
  };
}
