import { expect, test } from "vitest";
import { dependencyCircles, startOrder } from "./start-order.ts";

const unit = (name: string, layer: number, ...dependsOn: string[]) => ({ name, layer, dependsOn });
const names = (units: readonly { name: string }[]) => units.map(({ name }) => name);

test("lower layers start first, and dependencies before those who need them", () => {
  expect(names(startOrder([unit("c", 2), unit("b", 1, "z"), unit("z", 1), unit("a", 1)]))).toEqual([
    "z",
    "b",
    "a",
    "c",
  ]);
});

test("a dependency that is not here is passed over", () => {
  expect(names(startOrder([unit("a", 1, "elsewhere")]))).toEqual(["a"]);
});

test("a circle is found once, and the order still holds every unit once", () => {
  const units = [unit("a", 1, "b"), unit("b", 1, "c"), unit("c", 1, "a"), unit("d", 1, "a")];
  expect(dependencyCircles(units)).toEqual([["a", "b", "c"]]);
  expect(names(startOrder(units)).sort()).toEqual(["a", "b", "c", "d"]);
});
