/*
 * In place of TypeBox in the pages' bundle: they take constants and types from `schemas/`, and the server checks what they send. TypeBox
 * would be a third of their code.
 */

const schema = { properties: {} }

/** Every function makes an empty schema. */
export const Type = new Proxy({} as Record<string, () => typeof schema>, { get: () => () => schema })
