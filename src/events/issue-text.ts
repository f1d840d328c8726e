/** What is wrong with a field, in words for people: the library speaks to those who know its types. */
export const issueText = (message: string): string => {
  if (message === "Invalid input") return "is not valid";
  const [, expected, received] = /^Invalid input: expected (.+), received (.+)$/.exec(message) ?? [];
  if (expected === undefined) return message;
  return received === "undefined" ? `is missing (${expected})` : `must be ${expected}, not ${received}`;
};
