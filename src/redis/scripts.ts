import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type Redis, ReplyError } from 'ioredis'
import type { RedisClient } from './connect.ts'
import type { Caller } from './joined-calls.ts'
import { replyCode } from './reply-error.ts'

export type ScriptArgument = string | number | Buffer

/** A command that writes. */
export type Write = readonly [command: 'XADD' | 'SET', key: string, ...args: ScriptArgument[]]

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
  /**
   * Writes, and runs the script behind that, as one. For what is large: Redis' Lua hashes each byte of each argument, which takes
   * as long as all else that an entry costs. A write may be refused and the script runs all the same, so it has to tell whether it
   * is there, and to take back what is not to stay, also when it fails; nobody sees it before. Sent as source: were the script
   * unknown, the writes would stay. A client of a cluster may send all of it again when the connection broke (`connectRedis`). Rejects
   * with what Redis refused; above maxmemory that is OOM, also for a script that runs there.
   */
  runBehind(
    client: RedisClient,
    writes: readonly Write[],
    keys: readonly string[],
    args: readonly ScriptArgument[],
  ): Promise<unknown>
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
    async runBehind(client, writes, keys, args) {
      const transaction = (client as Redis).multi()
      for (const write of writes) transaction.call(...write)
      transaction.call('EVAL', source, keys.length, ...keys, ...args)
      const results = await transaction.exec().catch(refusal)
      const [error, result] = results!.at(-1)!
      if (error !== null) throw error
      return result
    },
  }
}

/** Why Redis discarded a transaction: it says so of one of the commands, or, behind its own words, of all. */
function refusal(error: Error & { previousErrors?: Error[] }): never {
  const reason = /^EXECABORT .* because of: -?(.*)$/.exec(error.message)?.[1]
  throw error.previousErrors?.[0] ?? (reason === undefined ? error : new ReplyError(reason))
}

/** Without the lines that are comments: what is sent as source is read each time. */
function textOf(name: string): string {
  const text = readFileSync(new URL(`./scripts/${name}.lua`, import.meta.url), 'utf8')
  return text.replace(/^ *--.*\n/gm, '')
}
