/** What the build gives for an address of a script of our own. */
declare module "*&url" {
  const url: string;
  export default url;
}
declare module "*.css";
