/**
 * swim: joined nodes look after each other, in the way of the SWIM protocol (Das, Gupta and Motivala, 2002).
 *
 * It guarantees that
 * - nobody is suspected because of one line that is down: others are asked to try before;
 * - a node that is suspected hears of it, and contradicts with the next incarnation;
 * - who belongs to the cluster is said by the coordinator alone: a datagram of anybody else, or one that is not signed, is dropped;
 * - what it finds out is told to the coordinator with the beats of a node; it ends nothing and starts nothing by itself.
 */
export type { Datagrams } from "./datagrams.port.ts";
export { startSwim } from "./swim.ts";
export type { SwimPeer } from "./swim-member.ts";
