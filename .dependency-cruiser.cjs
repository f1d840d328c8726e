// The house: imports go down, never up; rooms on one floor never import each other. A test stands outside of the house:
// it may look at the whole to prove a part.
const floors = [
  ["kernel"],
  ["events"],
  ["router"],
  ["daemons"],
  ["work", "cluster", "sync"],
  ["pipeline"],
  ["adapters", "workloads", "surfaces"],
  ["app"],
];
const any = (rooms) => `^src/(${rooms.join("|")})/`;
// A test stands outside the house: it may put parts of several floors together.
const tests = "\\.(test|contract)\\.ts$";
module.exports = {
  forbidden: [
    { name: "no-cycles", severity: "error", from: {}, to: { circular: true } },
    ...floors.slice(0, -1).map((rooms, i) => ({
      name: `no-upward-from-${rooms.join("-")}`,
      severity: "error",
      from: { path: any(rooms), pathNot: tests },
      to: { path: any(floors.slice(i + 1).flat()) },
    })),
    ...floors
      .filter((floor) => floor.length > 1)
      .flatMap((floor) =>
        floor.map((room) => ({
          name: `siblings-of-${room}-speak-in-events`,
          severity: "error",
          from: { path: any([room]), pathNot: tests },
          to: { path: any(floor.filter((other) => other !== room)) },
        })),
      ),
    {
      name: "no-room-imports-the-front-door",
      severity: "error",
      from: { path: any(floors.flat()), pathNot: tests },
      to: { path: "^src/(index|client)\\.ts$" },
    },
    {
      name: "no-dev-dependencies-in-src",
      severity: "error",
      from: { path: "^src/", pathNot: tests },
      to: { dependencyTypes: ["npm-dev"] },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    doNotFollow: { path: "node_modules" },
  },
};
