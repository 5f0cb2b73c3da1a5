import type { Stats } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Whether this user has all these rights (`constants` of node:fs). */
export async function may(path: string, mode: number): Promise<boolean> {
  return await access(path, mode).then(
    () => true,
    () => false,
  )
}

/** The path itself, or its first parent that exists. */
export async function nearest(path: string): Promise<string> {
  return (await statIfThere(path)) === undefined && dirname(path) !== path ? await nearest(dirname(path)) : path
}

export async function statIfThere(path: string): Promise<Stats | undefined> {
  return await stat(path).catch(() => undefined)
}
