/** Makes a value when it is first asked for, and gives the same one from then on. For tables and such that no start needs. */
export function lazy<Value extends object>(make: () => Value): () => Value {
  let made: Value | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
