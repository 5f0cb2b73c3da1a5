import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { type Cluster, Command, Redis, ReplyError } from 'ioredis'
import type { RedisClient } from './connect.ts'
import { replyCode } from './errors.ts'
import type { Caller } from './pipelined-calls.ts'

export type ScriptArgument = string | number | Buffer

/** An entry that a script adds to a stream: alternating fields and values. */
export interface Addition {
  readonly stream: string
  readonly fields: readonly (string | Buffer)[]
}

/** Additions of this many bytes together bypass Lua. */
export const LARGE_BYTES = 65_536

type Call = readonly [command: string, ...args: ScriptArgument[]]

/** A command that writes. */
export type Write = readonly [command: 'XADD' | 'SET', key: string, ...args: ScriptArgument[]]

/**
 * A Lua script. Its file is in the folder of the subject that calls it, and its name ends with the number of its keys, or with `N` if
 * that varies. Its header lists keys, arguments and result.
 */
export interface Script {
  readonly name: string
  /**
   * Runs the script atomically. Returns numbers as numbers and strings as Buffers. Sends its digest, or its source if Redis does not
   * know it (after a restart). The second try is safe, because an unknown script has done nothing.
   */
  run(client: Caller, keys: readonly string[], args: readonly ScriptArgument[]): Promise<unknown>
  /**
   * Makes writes, and runs the script after them, in one transaction. For large writes: Redis' Lua hashes every byte of its arguments,
   * which would double the cost of an entry. Redis may refuse a write and still run the script. So the script must check that each
   * write is there, and must undo those that must not stay, even when it fails. It is sent as source, because the writes would stay if
   * Redis did not know the script. A cluster client may repeat the transaction after a broken connection (`connectRedis`). Rejects with
   * the error of the refused command. Above maxmemory that is OOM, even if the script itself may run there.
   */
  runAfter(
    client: RedisClient,
    writes: readonly Write[],
    keys: readonly string[],
    args: readonly ScriptArgument[],
  ): Promise<unknown>
  /**
   * Runs a script that adds entries. If they are large together, they are added before it (`runAfter`), so the script must use the
   * functions of `added-before.lua`. A script that drains Redis adds them itself above maxmemory.
   * @param argsWith makes the script's arguments. It gets for each addition its number of arguments and these; just 0 if the entry was
   * added before the script.
   */
  runAdding(
    client: RedisClient,
    additions: readonly Addition[],
    keys: readonly string[],
    argsWith: (added: readonly (readonly ScriptArgument[])[]) => readonly ScriptArgument[],
  ): Promise<unknown>
}

/**
 * Reads a script.
 * @param module `import.meta.url` of the caller; `path` is relative to its folder
 * @param options `aboveMaxmemory`: this use drains Redis, so it runs above maxmemory (if all uses do, the source says so itself).
 * `using`: files of functions to put before the script.
 */
export function loadScript(
  module: string,
  path: string,
  options: { aboveMaxmemory?: boolean; using?: string | readonly string[] } = {},
): Script {
  const name = basename(path, '.lua')
  const own = textOf(module, path)
  const ownFlags = FLAGS.exec(own)?.[0] ?? ''
  const flags = options.aboveMaxmemory ? DRAINS : ownFlags
  const functions = [options.using ?? []]
    .flat()
    .map((file) => textOf(module, file))
    .join('')
  const source = flags + functions + own.slice(ownFlags.length)
  const digest = createHash('sha1').update(source).digest('hex')
  const script: Script = {
    name,
    async run(client, keys, args) {
      try {
        return await client.callBuffer('EVALSHA', digest, keys.length, ...keys, ...args)
      } catch (error) {
        if (replyCode(error) !== 'NOSCRIPT') throw error
        return await client.callBuffer('EVAL', source, keys.length, ...keys, ...args)
      }
    },
    async runAfter(client, writes, keys, args) {
      const commands: Call[] = [...writes, ['EVAL', source, keys.length, ...keys, ...args]]
      return await (client instanceof Redis ? transact(client, commands) : transactInCluster(client, commands))
    },
    async runAdding(client, additions, keys, argsWith) {
      if (bytesOf(additions) >= LARGE_BYTES) {
        const writes = additions.map(({ stream, fields }): Write => ['XADD', stream, '*', ...fields])
        const args = argsWith(additions.map(() => [0]))
        try {
          return await script.runAfter(client, writes, keys, args)
        } catch (error) {
          if (flags !== DRAINS || replyCode(error) !== 'OOM') throw error
        }
      }
      return await script.run(client, keys, argsWith(additions.map(({ fields }) => [fields.length, ...fields])))
    },
  }
  return script
}

/** Runs commands in a transaction without copying their bytes. Returns the reply to the last one. */
async function transact(client: Redis, commands: readonly Call[]): Promise<unknown> {
  // All commands are queued in this turn, so no other command comes between. They are written together afterwards, or not at all.
  const sent = [['MULTI'] as const, ...commands, ['EXEC'] as const].map(([name, ...args]) => {
    const command = new VectoredCommand(name, args, { replyEncoding: 'utf8' })
    command.inTransaction = true
    return client.sendCommand(command)
  })
  const settled = await Promise.allSettled(sent)
  const failed = settled.find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected') refusal(failed.reason)
  const reply = ((await sent.at(-1)) as unknown[]).at(-1)
  if (reply instanceof Error) throw reply
  return reply
}

/** Like `transact`, with a pipeline, which finds the right server of a cluster by its keys. */
async function transactInCluster(client: Cluster, commands: readonly Call[]): Promise<unknown> {
  const transaction = client.multi()
  for (const command of commands) transaction.call(...command)
  const results = await transaction.exec().catch(refusal)
  const [error, reply] = results!.at(-1)!
  if (error !== null) throw error
  return reply
}

/** The first line of a script with flags. It must stay first, before the functions that the script uses. */
const FLAGS = /^#!.*\n/
/** Allows a script to run above maxmemory. */
const DRAINS = '#!lua flags=allow-oom\n'

function bytesOf(additions: readonly Addition[]): number {
  let bytes = 0
  for (const { fields } of additions) for (const field of fields) bytes += field.length
  return bytes
}

/** Finds why Redis discarded a transaction: in the error of a command, or inside the text of EXECABORT. */
function refusal(error: Error & { previousErrors?: Error[] }): never {
  const reason = /^EXECABORT .* because of: -?(.*)$/s.exec(error.message)?.[1]
  throw error.previousErrors?.[0] ?? (reason === undefined ? error : new ReplyError(reason))
}

/** Leaves out comment lines, because Redis parses the source at every EVAL. */
function textOf(module: string, path: string): string {
  const text = readFileSync(new URL(path, module), 'utf8')
  return text.replace(/^ *--.*\n/gm, '')
}

/** The used part of a socket. */
interface VectoredWriter {
  cork(): void
  uncork(): void
  write(part: string | Buffer): unknown
}

/**
 * A command whose Buffers go to the socket without a copy, at the end of the turn, in one `writev`. For other commands ioredis copies
 * Buffers twice, once for the command and once for the pipeline. The caller must not change the Buffers before the reply.
 */
export class VectoredCommand extends Command {
  /** @returns the text that ioredis still has to write */
  override toWritable(socket: object): string {
    const writer = socket as VectoredWriter
    writer.cork()
    process.nextTick(() => writer.uncork())
    let text = `*${this.args.length + 1}\r\n${bulkString(this.name)}`
    for (const arg of this.args) {
      if (arg instanceof Buffer && arg.length > 0) {
        writer.write(`${text}$${arg.length}\r\n`)
        writer.write(arg)
        text = '\r\n'
      } else {
        text += bulkString(String(arg))
      }
    }
    return text
  }
}

/** A bulk string of RESP2 (https://redis.io/docs/latest/develop/reference/protocol-spec/#bulk-strings). */
function bulkString(text: string): string {
  return `$${Buffer.byteLength(text)}\r\n${text}\r\n`
}
