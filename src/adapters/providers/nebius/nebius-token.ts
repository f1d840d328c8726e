/**
 * How a service account proves who it is at Nebius: a token that it has signed itself is exchanged for one that opens the API for a while.
 * The key file is the one that Nebius's own tools make and read; a file that holds an access token alone is used as it is.
 */
import { createPrivateKey, sign } from "node:crypto";
import { z } from "zod";
import { providerErrors } from "../../../cluster/fleet/index.ts";
import type { Clock } from "../../../kernel/index.ts";
import { decode, encode } from "./protobuf.ts";

const credentialsFile = z.object({
  "subject-credentials": z.object({
    alg: z.literal("RS256"),
    "private-key": z.string(),
    kid: z.string(),
    iss: z.string(),
    sub: z.string(),
  }),
});
type Credentials = z.output<typeof credentialsFile>["subject-credentials"];

const OWN_SECONDS = 300;
/** It is asked for anew before it ends. */
const EARLY_MS = 60_000;
const EXCHANGE = "nebius.iam.v1.TokenExchangeService/Exchange";

function credentialsIn(text: string): Credentials | undefined {
  try {
    return credentialsFile.parse(JSON.parse(text))["subject-credentials"];
  } catch {
    return undefined;
  }
}

/** RFC 7519, signed with the account's key. */
function ownToken({ kid, iss, sub, "private-key": pem }: Credentials, nowMs: number): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const now = Math.floor(nowMs / 1_000);
  const unsigned = `${part({ alg: "RS256", typ: "JWT", kid })}.${part({ iss, sub, iat: now, exp: now + OWN_SECONDS })}`;
  return `${unsigned}.${sign("sha256", Buffer.from(unsigned), createPrivateKey(pem)).toString("base64url")}`;
}

/** RFC 8693, in the fields of `nebius/iam/v1/token_service.proto`. */
const exchangeRequest = (token: string): Uint8Array =>
  encode(
    [1, "urn:ietf:params:oauth:grant-type:token-exchange"],
    [2, "urn:ietf:params:oauth:token-type:access_token"],
    [3, token],
    [4, "urn:ietf:params:oauth:token-type:jwt"],
  );

export function nebiusToken(
  name: string,
  key: string,
  clock: Clock,
  exchange: (method: string, message: Uint8Array, signal: AbortSignal) => Promise<Uint8Array>,
) {
  const credentials = credentialsIn(key);
  let known: { readonly token: string; readonly untilMs: number } | undefined;

  const signed = (account: Credentials): string => {
    try {
      return ownToken(account, clock.now());
    } catch {
      // What went wrong may quote the key.
      throw providerErrors.denied(name, "the private key in its key file cannot be used", {
        hint: "Make the file anew with Nebius's own tools.",
      });
    }
  };

  return async (signal: AbortSignal): Promise<string> => {
    if (credentials === undefined) return key;
    if (known !== undefined && clock.monotonic() < known.untilMs) return known.token;
    const begunMs = clock.monotonic();
    const answer = decode(await exchange(EXCHANGE, exchangeRequest(signed(credentials)), signal));
    const token = answer.text(1);
    if (!/^[\x21-\x7e]{1,16384}$/.test(token)) throw providerErrors.answerInvalid(name, "it gave no access token");
    known = { token, untilMs: begunMs + Math.max(0, answer.whole(4) * 1_000 - EARLY_MS) };
    return token;
  };
}
