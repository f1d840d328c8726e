/** The boards of RingRift's own game, as configs name them. Other games have config keys of their own. */
export const BoardType = Object.freeze({
  HEX8: "hex8",
  SQUARE8: "square8",
  SQUARE19: "square19",
  HEXAGONAL: "hexagonal",
});
export type BoardType = (typeof BoardType)[keyof typeof BoardType];

/** The config of a board and a number of players: `hex8_2p`. */
export const configKeyOf = <B extends BoardType, P extends 2 | 3 | 4>(board: B, players: P): `${B}_${P}p` =>
  `${board}_${players}p`;
