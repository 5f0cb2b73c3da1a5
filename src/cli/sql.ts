import { Readable } from 'node:stream'
import { Command } from 'commander'
import { shown } from '../config/values.ts'
import { causeWithRemedy } from '../run/cause-text.ts'
import { InputError, StartupError } from '../run/errors.ts'
import { joinedLines } from '../run/visible-text.ts'
import type { CliContext } from '../terminal/context.ts'
import { passOn, printJson, printLine, printMore } from '../terminal/print.ts'
import { addSettings, configOf, INSTANCE_SETTINGS } from '../terminal/settings-options.ts'

interface SqlOptions {
  readonly json?: boolean
  readonly printUrl?: boolean
  readonly write?: boolean
}

/** `ipid sql "SELECT …"` */
export function sqlCommand(context: CliContext): Command {
  const command = new Command('sql')
    .argument('[statement]', 'the statement; a FORMAT of its own is honoured')
    .option('--print-url', 'print the address of ClickHouse with its user and password instead')
    .option('--write', 'as the user of ipid itself, who may change its tables; without it, as the analyst')
    .option('--json', "print ClickHouse's JSON format: meta, data, rows")
  return addSettings(command, INSTANCE_SETTINGS).action(async (statement: string | undefined, options: SqlOptions) => {
    const config = configOf(context, command)
    if ((statement === undefined) !== (options.printUrl === true)) {
      throw new InputError('give a statement, or --print-url')
    }
    const { analystUrlOf, clickhouseUrlOf } = await import('../terminal/instance.ts')
    const url = await (options.write === true ? clickhouseUrlOf : analystUrlOf)(config)
    if (statement === undefined) printLine(context.stdout, url)
    else await runStatement(url, statement, options.json === true, context.stdout)
  })
}

/** ClickHouse refused a statement. */
class StatementError extends Error {
  override name = 'StatementError'
}

/** Tables of people. ClickHouse draws them, and prints nothing for a result without rows. */
const TABLE_FORMAT = 'PrettyCompact'
/** The JSON output of a statement without a result. */
const NO_RESULT = { meta: [], data: [], rows: 0 }

/**
 * Runs one statement over ClickHouse's HTTP interface and prints its result as a table or as one JSON value.
 * @throws StatementError with ClickHouse's message in one line
 * @throws StartupError when it cannot be reached
 */
export async function runStatement(
  url: string,
  statement: string,
  json: boolean,
  out: NodeJS.WritableStream,
): Promise<void> {
  const response = await post(url, statement, json ? 'JSON' : TABLE_FORMAT)
  if (!response.ok) throw new StatementError(withoutTokenList(firstLine(await response.text())))
  const format = response.headers.get('x-clickhouse-format')
  if (json && format !== null && format !== 'JSON') {
    await response.body?.cancel()
    throw new InputError('--json needs a statement without a FORMAT of its own')
  }
  const body: AsyncIterable<Uint8Array> = response.body ?? Readable.from([])
  const isTerminal = 'isTTY' in out && out.isTTY === true
  const isForPeople = isTerminal || (format !== null && /^(?:Pretty|Vertical)/.test(format))
  const decoder = new TextDecoder()
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    // A FORMAT in the statement passes through unchanged to programs.
    if (isForPeople) await printMore(out, decoder.decode(chunk, { stream: true }))
    else await passOn(out, chunk)
  }
  if (isForPeople) await printMore(out, decoder.decode())
  if (bytes > 0) return
  if (json) printJson(out, NO_RESULT)
  else if (format === TABLE_FORMAT) printLine(out, '0 rows')
}

/** A syntax error of ClickHouse ends with a list of all possible tokens: remove it. */
function withoutTokenList(message: string): string {
  return message.replace(/\.? Expected one of: .*?(?=\(SYNTAX_ERROR\)|$)/s, '. ')
}

async function post(url: string, statement: string, format: string): Promise<Response> {
  const target = new URL(url)
  const { username, password } = target
  target.username = ''
  target.password = ''
  target.searchParams.set('database', 'ipid')
  target.searchParams.set('default_format', format)
  // Makes an error in the middle of a result an error response, not a part of the result.
  target.searchParams.set('wait_end_of_query', '1')
  const headers: Record<string, string> = username === '' ? {} : credentials(username, password)
  try {
    return await fetch(target, { method: 'POST', body: statement, headers })
  } catch (error) {
    throw new StartupError(`cannot reach ClickHouse at ${shown(url)}: ${causeWithRemedy(error)}`)
  }
}

function credentials(user: string, password: string): Record<string, string> {
  return { 'x-clickhouse-user': decodeURIComponent(user), 'x-clickhouse-key': decodeURIComponent(password) }
}

const VERSION = /^\(version [^()]*(?:\([^()]*\))?\)$/

/** `Code: 60. DB::Exception: Unknown table … (UNKNOWN_TABLE)`, without the version at its end. */
function firstLine(text: string): string {
  const trimmed = text.trim()
  const versionAt = trimmed.lastIndexOf('(version ')
  // The text of the statement may contain these words too.
  const isVersion = versionAt >= 0 && VERSION.test(trimmed.slice(versionAt))
  return joinedLines(isVersion ? trimmed.slice(0, versionAt) : trimmed)
}
