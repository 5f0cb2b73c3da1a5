import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Caller } from './joined-calls.ts'
import { replyCode } from './reply-error.ts'

export type ScriptArgument = string | number | Buffer

/**
 * One Lua script of `scripts/`. The file's name ends with the number of its keys, or with `N` where that varies; its
 * header says what keys and arguments are and what it returns.
 */
export interface Script {
  readonly name: string
  /**
   * Runs it as one step in Redis. Numbers come back as numbers, strings as Buffers. It is sent by its digest, and as
   * source when Redis does not know it (after a restart): that is safe, since an unknown script has done nothing.
   */
  run(client: Caller, keys: readonly string[], args: readonly ScriptArgument[]): Promise<unknown>
}

/**
 * Reads a script once.
 * @param name file name without `.lua`
 * @param aboveMaxmemory that it runs above Redis' maxmemory where this use of it drains Redis; the source itself says so
 *   when all its uses do
 * @param using file of functions that it calls; they come behind its first line
 */
export function loadScript(name: string, options: { aboveMaxmemory?: boolean; using?: string } = {}): Script {
  const text = textOf(name)
  const firstLine = text.indexOf('\n') + 1
  const own =
    options.using === undefined ? text : text.slice(0, firstLine) + textOf(options.using) + text.slice(firstLine)
  const source = options.aboveMaxmemory ? `#!lua flags=allow-oom\n${own}` : own
  const digest = createHash('sha1').update(source).digest('hex')
  return {
    name,
    async run(client, keys, args) {
      try {
        return await client.callBuffer('EVALSHA', digest, keys.length, ...keys, ...args)
      } catch (error) {
        if (replyCode(error) !== 'NOSCRIPT') throw error
        return await client.callBuffer('EVAL', source, keys.length, ...keys, ...args)
      }
    },
  }
}

function textOf(name: string): string {
  return readFileSync(new URL(`./scripts/${name}.lua`, import.meta.url), 'utf8')
}
