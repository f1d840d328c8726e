/** What operators may set of the API: how it is reached, and by whom. */
import { decimal, host, name, path, secretFile, whole, yesNo } from "../kernel/settings/index.ts";

export const portSettings = {
  port: whole({
    key: "api.port",
    variable: "RINGRIFT_PORT",
    flag: "--port",
    min: 0,
    max: 65_535,
    default: 8_770,
    about: "Port of the API; 0 picks a free one.",
  }),
  token: secretFile({
    key: "api.token_file",
    variable: "RINGRIFT_TOKEN_FILE",
    shown: "`token` in the data folder, made at the first start",
    about: "File with the local operator's token for the API.",
  }),
};

export const apiSettings = {
  host: host({
    key: "api.host",
    variable: "RINGRIFT_HOST",
    default: "127.0.0.1",
    about: "Address that the API listens on. Beyond loopback it needs TLS, and a token for everything except probes.",
  }),
  serverName: name({
    key: "api.server_name",
    variable: "RINGRIFT_SERVER_NAME",
    default: undefined,
    shown: "none",
    about: "Additional host name that the API answers to, besides its addresses and the names in its certificate.",
  }),
  localReads: yesNo({
    key: "api.local_reads",
    variable: "RINGRIFT_LOCAL_READS",
    default: true,
    about: "Everybody on this machine may read over loopback without a token.",
  }),
  tlsCertFile: path("file", {
    key: "api.tls_cert_file",
    variable: "RINGRIFT_TLS_CERT_FILE",
    default: undefined,
    shown: "none: plain HTTP",
    about: "Certificate of the API in PEM, with its chain. A new one is used without a restart.",
  }),
  tlsKeyFile: path("file", {
    key: "api.tls_key_file",
    variable: "RINGRIFT_TLS_KEY_FILE",
    default: undefined,
    shown: "none",
    about: "Private key of that certificate in PEM. Only its owner may be able to read it.",
  }),
  allowPlainHttp: yesNo({
    key: "api.allow_plain_http",
    variable: "RINGRIFT_ALLOW_PLAIN_HTTP",
    default: false,
    about: "Listen beyond loopback without TLS. Only if something else protects the tokens on the network.",
  }),
  rateFactor: decimal({
    key: "api.rate_factor",
    variable: "RINGRIFT_RATE_FACTOR",
    min: 0.01,
    max: 10_000,
    default: 1,
    about: "Multiplies the rate limits of the port.",
  }),
};
