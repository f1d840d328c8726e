const refuse = (): never => {
  throw new Error("these units are only declared: they were given nothing to work with");
};

/**
 * Services for units whose declarations are read and which are never run: what is asked of them is there, has no fields of
 * its own, and fails as soon as it is used. What a unit looks at while it is made is given.
 */
export const onlyDeclared = <S extends object>(
  given: { readonly [K in keyof NoInfer<S>]?: S[K] | undefined } = {},
): S =>
  new Proxy(refuse, {
    get: (_target, name) => (Object.hasOwn(given, name) ? given[name as keyof S] : onlyDeclared()),
    apply: refuse,
  }) as unknown as S;
