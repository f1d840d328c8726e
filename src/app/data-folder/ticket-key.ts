/** The key with which a main process allows nodes to fetch from each other: made once, kept in the data folder, and never sent. */
import { createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { chmodSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { OperatingError } from "../../kernel/index.ts";
import { writeWhole } from "./token.ts";

const KEY_FILE = "ticket.key";

export function ticketKeyIn(dataDir: string): KeyObject {
  const path = join(dataDir, KEY_FILE);
  if (!existsSync(path)) {
    const { privateKey } = generateKeyPairSync("ed25519");
    writeWhole(path, privateKey.export({ type: "pkcs8", format: "pem" }).toString());
    return privateKey;
  }
  chmodSync(path, 0o600);
  try {
    const key = createPrivateKey(readFileSync(path));
    if (key.asymmetricKeyType !== "ed25519") throw new Error(`it is of the type ${key.asymmetricKeyType}`);
    return key;
  } catch (cause) {
    throw OperatingError.internal("TICKET_KEY_INVALID", `${path} cannot be read`, {
      cause,
      hint: "Remove it and start again: nodes learn the new one within a minute.",
    });
  }
}
