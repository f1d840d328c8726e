/** swim: datagrams over UDP, for nodes that look after each other. */
export { udpDatagrams } from "./udp-datagrams.ts";
