import { expect, test } from "vitest";
import type { ClusterView } from "../../cluster/index.ts";
import { standbyPage } from "./standby-page.ts";

const view = (leader: Partial<NonNullable<ClusterView["leader"]>> | null): ClusterView => ({
  cluster: "c",
  generation: 1,
  name: "box2",
  role: "follower",
  term: 7,
  seq: 3,
  leader: leader && { name: "box1", url: "https://box1:8770", fingerprint: null, term: 7, since: 0, ...leader },
  members: [],
  trouble: null,
  terms: [],
  refused: null,
  checks: [],
  engine: null,
});

test("a standby's page says that it is one, who leads and where", async () => {
  const answer = standbyPage(view({}));
  expect(answer.status).toBe(503);
  expect(answer.headers.get("content-security-policy")).toContain("default-src 'none'");
  const html = await answer.text();
  expect(html).toContain("<h1>box2 stands by</h1>");
  expect(html).toContain('<strong>box1</strong> leads, in term 7. Its page is at <a href="https://box1:8770">');
});

test("nobody leads, or the process just starts: the page says so", async () => {
  expect(await standbyPage(view(null)).text()).toContain("No coordinator leads at the moment");
  expect(await standbyPage(undefined).text()).toContain("This coordinator starts");
});

test("what another coordinator says of itself stays text", async () => {
  const html = await standbyPage(view({ name: "<script>x</script>", url: "javascript:alert(1)" })).text();
  expect(html).not.toContain("<script>");
  expect(html).not.toContain("href");
});
