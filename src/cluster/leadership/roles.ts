/** What a coordinator is to the others. `offline`: it follows no log at the moment. */
export const LeadershipRole = {
  LEADER: "leader",
  FOLLOWER: "follower",
  CANDIDATE: "candidate",
  OFFLINE: "offline",
} as const;
export type LeadershipRoleName = (typeof LeadershipRole)[keyof typeof LeadershipRole];

/** What is led. There is one lease: whoever holds it leads in all of them, and these are five views of it. */
export const LeadershipDomain = {
  TRAINING: "training",
  EVALUATION: "evaluation",
  PROMOTION: "promotion",
  DATA_SYNC: "data_sync",
  CLUSTER: "cluster",
} as const;
export type LeadershipDomainName = (typeof LeadershipDomain)[keyof typeof LeadershipDomain];

/** Who leads in each domain. There is one lease, so it is one name in five places. */
export const leadersByDomain = (leader: string | null): Readonly<Record<LeadershipDomainName, string | null>> => ({
  training: leader,
  evaluation: leader,
  promotion: leader,
  data_sync: leader,
  cluster: leader,
});
