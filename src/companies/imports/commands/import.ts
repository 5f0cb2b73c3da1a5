import { createReadStream } from 'node:fs'
import { basename } from 'node:path'
import type { Command } from 'commander'
import type { ImportAnswer, ImportedRow } from '../../../../schemas/api/company-import.ts'
import { COMMAND_LINE } from '../../../run/authors.ts'
import { numbered } from '../../../run/counted.ts'
import { InputError } from '../../../run/errors.ts'
import type { CliContext } from '../../../terminal/context.ts'
import { printJson, printLine, printTable } from '../../../terminal/print.ts'
import { addSubcommand } from '../../../terminal/subcommand.ts'
import { assertValid, withCorrections } from '../../corrections/commands/with-corrections.ts'

interface Flags {
  readonly json?: boolean
  readonly dryRun?: boolean
  readonly clearEmpty?: boolean
  readonly map?: Readonly<Record<string, string>>
  readonly dateOrder?: string
  readonly encoding?: string
}

/** `ipid company import` */
export function addImport(company: Command, context: CliContext): void {
  addSubcommand(company, 'import <tenant> <file>', 'import owner, status, tags and columns of your own from a CSV list')
    .option('--dry-run', 'only show what would happen')
    .option(
      '--map <column=target>',
      'what a column is: domain, name, owner, status, tags, text, number, date, own.KEY, or nothing; may be repeated',
      readMap,
      undefined,
    )
    .option('--clear-empty', 'an empty cell removes what is there')
    .option('--date-order <order>', 'dmy or mdy: how to read 01/02/2026')
    .option('--encoding <name>', 'if it is not detected, such as windows-1251')
    .action(async (name: string, file: string, flags: Flags, command: Command) => {
      const [{ ImportChoice }, { readList }, { CompanyImports }] = await Promise.all([
        import('../../../../schemas/api/company-import.ts'),
        import('../list-file.ts'),
        import('../imports.ts'),
      ])
      const { json, dryRun: dry_run, clearEmpty: clear_empty, dateOrder: date_order, map, encoding } = flags
      const choice = JSON.parse(JSON.stringify({ dry_run, clear_empty, date_order, map, encoding })) as object
      await assertValid(ImportChoice, choice)
      const list = await readList(basename(file), bytesOf(file), encoding)
      const answer = await withCorrections(context, command, name, (corrections, tenant, client) =>
        new CompanyImports(() => client, corrections).import(tenant, list, { ...choice, by: COMMAND_LINE }),
      )
      if (json) return printJson(context.stdout, answer)
      print(context, answer, dry_run === true)
    })
}

function readMap(pair: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const at = pair.lastIndexOf('=')
  if (at < 1) throw new InputError('--map: must be COLUMN=TARGET; COLUMN= leaves the column out')
  return { ...before, [pair.slice(0, at).trim()]: pair.slice(at + 1).trim() }
}

/** @throws InputError when the file cannot be read */
async function* bytesOf(file: string): AsyncGenerator<Buffer> {
  try {
    yield* createReadStream(file)
  } catch (error) {
    throw new InputError(`${file} cannot be read: ${(error as Error).message}`)
  }
}

function print({ stdout }: CliContext, answer: ImportAnswer, isDry: boolean): void {
  printTable(
    stdout,
    ['COLUMN', 'BECOMES', 'SUCH AS'],
    answer.columns.map(({ name, target, example, is_new }) => [
      ...[name, target === '' ? 'left out' : is_new ? `new column (${target})` : target, example],
    ]),
  )
  printLine(stdout, '')
  if (answer.problem !== null) throw new InputError(`${answer.problem}: --map COLUMN=domain`)
  rows('these companies change', answer.changed_rows)
  rows('these have not visited yet, and are kept for their first visit', answer.waiting_rows)
  rows('these rows cannot be used', answer.unused_rows)
  if (answer.problems.length > 0) {
    printLine(stdout, 'these values are left out:')
    for (const { line, column, reason } of answer.problems) printLine(stdout, `  line ${line}, ${column}: ${reason}`)
    printLine(stdout, '')
  }
  const { rows: all, matched, waiting, unused, changed, values, cleared, change_id, problem_count } = answer
  for (const [count, what] of [
    [all, 'rows'],
    [matched, 'of companies that have visited'],
    [waiting, 'of companies that have not visited yet, kept for their first visit'],
    [unused, 'that cannot be used'],
    [problem_count, 'values that cannot be used'],
  ] as const) {
    printLine(stdout, `${String(count).padStart(7)}  ${what}`)
  }
  const removed = cleared > 0 ? `, ${cleared} of them removed` : ''
  const change = `${numbered(changed, 'company', 'companies')}, ${numbered(values, 'value')}${removed}`
  if (values === 0) printLine(stdout, 'nothing changes')
  else if (isDry) printLine(stdout, `this would change ${change}; without --dry-run it does`)
  else printLine(stdout, `${change} changed; change ${change_id}`)

  function rows(title: string, shown: readonly ImportedRow[]): void {
    if (shown.length === 0) return
    printLine(stdout, `${title}:`)
    for (const { line, key, business_name: name, changes, reason } of shown) {
      const words = changes.map(
        ({ field, before, value }) => `${field} ${JSON.stringify(before)} → ${JSON.stringify(value)}`,
      )
      const what = reason === '' ? words.join(', ') || 'no change' : reason
      printLine(stdout, `  line ${[line, name || key].filter((text) => text !== '').join(', ')}: ${what}`)
    }
    printLine(stdout, '')
  }
}
