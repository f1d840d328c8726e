/** The same to read from, all the way down; what a schema leaves open is open here too. */
export type Given<T> = unknown extends T
  ? T
  : T extends readonly (infer Each)[]
    ? readonly Given<Each>[]
    : T extends object
      ? unknown extends T[keyof T & string]
        ? { readonly [K in keyof T as string extends K ? never : K]: Given<T[K]> }
        : { readonly [K in keyof T]: Given<T[K]> }
      : T;
