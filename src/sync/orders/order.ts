/** A transfer that the coordinator orders and a node carries out. */

/** A node fetches a copy for itself, or sends its own to the coordinator. */
export const ORDER_ACTIONS = ["fetch", "send"] as const;
export type OrderAction = (typeof ORDER_ACTIONS)[number];

/** Urgency goes from 0, low, to this: critical. */
export const MAX_URGENCY = 3;

/** Ways by which files come to a node. */
export const TRANSPORTS = ["folder", "http", "relay", "rsync", "s3", "coordinator"] as const;

export const ORDER_STATES = ["waiting", "running", "done", "failed", "cancelled"] as const;
export type OrderState = (typeof ORDER_STATES)[number];

/** Those that wait or run; those with a failure behind them; or all that are remembered. */
export const DELIVERY_VIEWS = ["open", "failing", "all"] as const;
export type DeliveryView = (typeof DELIVERY_VIEWS)[number];

export interface NewOrder {
  readonly node_id: string;
  readonly seq: number;
  readonly action: OrderAction;
  /** 0 to `MAX_URGENCY`: low, normal, high, critical. */
  readonly urgency: number;
  readonly bytes: number;
  readonly max_rate: number | null;
  readonly reason: string;
}

/** One way by which a node tried to carry out an order. */
export interface WayTried {
  readonly transport: string;
  /** Who was on the other side: a node by its id, a disk, a bucket. */
  readonly place: string;
  /** Null if it brought the file. */
  readonly code: string | null;
  readonly error: string | null;
}

export interface OrderRow extends NewOrder {
  readonly order_id: number;
  readonly sync_id: string;
  readonly state: OrderState;
  readonly attempts: number;
  readonly bytes_done: number;
  readonly error: string | null;
  readonly created_at: number;
  readonly not_before: number;
  /** When its node was given it last. */
  readonly began_at: number | null;
  /** When its node last spoke of it. */
  readonly heard_at: number | null;
  readonly ended_at: number | null;
}
