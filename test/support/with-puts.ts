import type { ObjectStore } from '../../src/stores/objects/object-store.ts'

/** A store whose next puts are given to a function. */
export function withPuts(store: ObjectStore, putFile: ObjectStore['putFile']): ObjectStore {
  return new Proxy(store, {
    get: (target, name) => {
      if (name === 'putFile') return putFile
      const value = Reflect.get(target, name) as unknown
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
