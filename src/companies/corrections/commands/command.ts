import { Command, Option } from 'commander'
import type { CorrectedAnswer, CorrectionWanted } from '../../../../schemas/dashboard/corrections.ts'
import { DEFAULT_HEAT_WEIGHTS, HEAT_PARTS, HEAT_POINTS, type HeatWeights } from '../../../../schemas/dashboard/heat.ts'
import { UNKNOWN_LIMITS, UNKNOWN_REASONS, type UnknownQuery } from '../../../../schemas/unknown-networks.ts'
import { COMMAND_LINE } from '../../../run/authors.ts'
import { systemClock } from '../../../run/clock.ts'
import { numbered } from '../../../run/counted.ts'
import { InputError } from '../../../run/errors.ts'
import { shellWord } from '../../../run/shell-word.ts'
import { zoneOfTenant } from '../../../tenants/tenancy.ts'
import type { CliContext } from '../../../terminal/context.ts'
import { integerOption } from '../../../terminal/integer-option.ts'
import { printJson, printLine, printTable } from '../../../terminal/print.ts'
import { addSubcommand } from '../../../terminal/subcommand.ts'
import { addImport } from '../../imports/commands/import.ts'
import { assertValid, withCorrections } from './with-corrections.ts'

interface Flags {
  readonly json?: boolean
  readonly remove?: boolean
}

interface IntentFlags extends Flags {
  readonly default?: boolean
}

const NOTHING = 'nothing to change'

/** `ipid company import|hide|show|rename|merge|note|tag|owner|status|set|columns|list|unknown|intent-pages|heat-weights|fit|history|undo` */
export function companyCommand(context: CliContext): Command {
  const company = new Command('company')
  addImport(company, context)
  addCorrections(company, context)
  addTag(company, context)
  addOwn(company, context)
  addList(company, context)
  addUnknown(company, context)
  addHistory(company, context)
  addUndo(company, context)
  addIntentPages(company, context)
  addHeatWeights(company, context)
  addFit(company, context)
  return company
}

/** The commands that set one field. */
function addCorrections(company: Command, context: CliContext): void {
  many('hide <tenant> <company...>', 'leave companies out everywhere', { hidden: true })
  many('show <tenant> <company...>', 'show hidden companies again', { hidden: false })
  one('rename <tenant> <company> <name>', 'give a company a name; "" takes it back', (name) => ({ name }))
  one('merge <tenant> <company> <into>', 'count a company for another one; "" takes it back', (merged_into) => ({
    merged_into,
  }))
  one('note <tenant> <company> <text>', 'write a note about a company; "" removes it', (note) => ({ note }))
  one('owner <tenant> <company> <person>', 'set the owner of a company; "" removes it', (owner) => ({ owner }))
  one(
    'status <tenant> <company> <status>',
    'set the status of a company, such as customer; "" removes it',
    (status) => ({
      status,
    }),
  )

  function one(usage: string, about: string, wantedOf: (value: string) => CorrectionWanted): void {
    addSubcommand(company, usage, about).action(
      async (tenant: string, id: string, value: string, flags: Flags, command: Command) => {
        await correct(context, command, tenant, flags, [id], wantedOf(value))
      },
    )
  }

  function many(usage: string, about: string, wanted: CorrectionWanted): void {
    addSubcommand(company, usage, about).action(
      async (tenant: string, ids: string[], flags: Flags, command: Command) => {
        await correct(context, command, tenant, flags, ids, wanted)
      },
    )
  }
}

function addTag(company: Command, context: CliContext): void {
  addSubcommand(company, 'tag <tenant> <company> <tag...>', 'add tags to a company')
    .option('--remove', 'remove them instead')
    .action(async (tenant: string, id: string, tags: string[], flags: Flags, command: Command) => {
      await correct(context, command, tenant, flags, [id], flags.remove ? { remove_tags: tags } : { add_tags: tags })
    })
}

interface ColumnsFlags {
  readonly json?: boolean
  readonly remove?: string
}

/** The commands about columns of the tenant's own. */
function addOwn(company: Command, context: CliContext): void {
  addSubcommand(
    company,
    'set <tenant> <company> <column> <value>',
    'set a value in a column of your own; "" removes it',
  ).action(async (tenant: string, id: string, key: string, value: string, flags: Flags, command: Command) => {
    await correct(context, command, tenant, flags, [id], { own: { [key]: value } })
  })
  addSubcommand(company, 'columns <tenant>', 'list the columns of your own, which imports make')
    .option('--remove <column>', 'remove one with its values; company undo takes it back')
    .action(async (name: string, { remove, ...flags }: ColumnsFlags, command: Command) => {
      if (remove !== undefined) {
        const answer = await withCorrections(context, command, name, (corrections, tenant) =>
          corrections.removeColumn(tenant, { key: remove, by: COMMAND_LINE }),
        )
        return print(context, flags, answer)
      }
      const columns = await withCorrections(context, command, name, (corrections, tenant) =>
        corrections.columns(tenant),
      )
      if (flags.json) return printJson(context.stdout, columns)
      printTable(
        context.stdout,
        ['COLUMN', 'NAME', 'TYPE', 'COMPANIES'],
        columns.map(({ key, name: title, type, companies }) => [key, title, type, companies]),
      )
    })
}

function addList(company: Command, context: CliContext): void {
  addSubcommand(company, 'list <tenant>', 'list the corrections that hold').action(
    async (name: string, flags: Flags, command: Command) => {
      const found = await withCorrections(context, command, name, (corrections, tenant) => corrections.list(tenant))
      if (flags.json) return printJson(context.stdout, found)
      printTable(
        context.stdout,
        ['COMPANY', 'HIDDEN', 'NAME', 'MERGED INTO', 'STATUS', 'TAGS', 'OWNER', 'OWN COLUMNS', 'NOTE'],
        found.map(({ company_id, hidden, name, counts_for, status, tags, owner, own, note }) => [
          ...[company_id, hidden ? 'yes' : '', name, counts_for, status, tags.join(', '), owner],
          ...[
            Object.entries(own)
              .map(([key, value]) => `${key}: ${value}`)
              .join(', '),
            note,
          ],
        ]),
      )
    },
  )
}

function addUnknown(company: Command, context: CliContext): void {
  const { days, daysMax, rows, rowsMax } = UNKNOWN_LIMITS
  addSubcommand(company, 'unknown <tenant>', 'list the networks of visits without a company')
    .addOption(integerOption('days', 'n', 'days, today included', { least: 1, most: daysMax, otherwise: days }))
    .addOption(integerOption('limit', 'n', 'networks to list', { least: 1, most: rowsMax, otherwise: rows }))
    .addOption(new Option('--reason <reason>', 'only networks with this reason').choices(UNKNOWN_REASONS))
    .action(async (name: string, { json, days, limit, reason }: Flags & UnknownQuery, command: Command) => {
      const [{ findUnknownNetworks }, { QuestionReader }] = await Promise.all([
        import('../../unknown.ts'),
        import('../../../stores/clickhouse/reader.ts'),
      ])
      const found = await withCorrections(context, command, name, (_, __, client, tenant) =>
        findUnknownNetworks(new QuestionReader(client), { clock: systemClock, zone: zoneOfTenant(tenant) }, tenant, {
          ...{ days, limit, reason },
        }),
      )
      if (json) return printJson(context.stdout, found)
      printTable(
        context.stdout,
        ['AS', 'NAME', 'COUNTRY', 'VISITS', 'EVENTS', 'LAST SEEN', 'WHY', 'RULE'],
        found.networks.map(({ asn, as_name, country_code, visits, events, last_seen, reason, rule }) => [
          ...[asn === 0 ? '' : `AS${asn}`, as_name, country_code, visits, events, last_seen, reason, rule],
        ]),
      )
      const more = found.total - found.networks.length
      if (more > 0) printLine(context.stdout, `and ${numbered(more, 'network')} with fewer visits`)
      const doubtful = found.networks.find(({ reason, rule }) => reason === 'doubtful' && rule === null)
      if (doubtful === undefined || doubtful.asn === 0) return
      const subject = `AS${doubtful.asn} - ${shellWord(doubtful.name)}`
      printLine(
        context.stdout,
        `make one a company, for stored visits too: ./ipid rules add ${name} is ${subject} --past all`,
      )
    })
}

function addHistory(company: Command, context: CliContext): void {
  addSubcommand(company, 'history <tenant> [company]', 'list changes, newest first').action(
    async (name: string, id: string | undefined, flags: Flags, command: Command) => {
      const [changes, hidings] = await withCorrections(context, command, name, (corrections, tenant) =>
        Promise.all([corrections.history(tenant, id), corrections.hidings(tenant, id)]),
      )
      const all = [...changes, ...hidings].sort((a, b) => Date.parse(b.at) - Date.parse(a.at))
      if (flags.json) return printJson(context.stdout, all)
      printTable(
        context.stdout,
        ['CHANGE', 'AT', 'BY', 'COMPANIES', 'WHAT', 'UNDONE BY'],
        all.map((entry) => {
          if ('action' in entry) {
            const { at, by, company_id, events, action, rule } = entry
            return ['', at, by, 1, `${company_id}: ${numbered(events, 'event')} ${action} by ${rule || 'class'}`, null]
          }
          const { change_id, at, by, companies, corrections, undone_by } = entry
          const [first] = corrections
          const what =
            first === undefined
              ? ''
              : `${first.company_id === '' ? '' : `${first.company_id}: `}${first.field} ${JSON.stringify(first.before)} → ${JSON.stringify(first.value)}`
          return [change_id, at, by, companies, what, undone_by]
        }),
      )
    },
  )
}

function addUndo(company: Command, context: CliContext): void {
  addSubcommand(company, 'undo <tenant> <change>', 'take a change back').action(
    async (name: string, changeId: string, flags: Flags, command: Command) => {
      print(
        context,
        flags,
        await withCorrections(context, command, name, (corrections, tenant) =>
          corrections.undo(tenant, { changeId, by: COMMAND_LINE, isAdmin: true }),
        ),
      )
    },
  )
}

function addIntentPages(company: Command, context: CliContext): void {
  addSubcommand(
    company,
    'intent-pages <tenant> [page...]',
    'show or choose the pages that show an intent to buy, which heat looks for',
  )
    .option('--default', 'take the default ones')
    .action(async (name: string, chosen: string[], flags: IntentFlags, command: Command) => {
      if (flags.default && chosen.length > 0) throw new InputError('name pages, or give --default: not both')
      if (flags.default || chosen.length > 0) {
        const { IntentPagesWanted } = await import('../../../../schemas/dashboard/intent-pages.ts')
        const wanted = { pages: chosen }
        await assertValid(IntentPagesWanted, wanted)
        const answer = await withCorrections(context, command, name, (corrections, tenant) =>
          corrections.setIntentPages(tenant, { wanted, by: COMMAND_LINE }),
        )
        return printSetting(context, flags, 'intent pages', answer)
      }
      const [{ ClickHouseIntentPages }, { QuestionReader }, { INTENT_PAGES }] = await Promise.all([
        import('../../intent-pages.ts'),
        import('../../../stores/clickhouse/reader.ts'),
        import('../../../../schemas/dashboard/intent-pages.ts'),
      ])
      const found = await withCorrections(context, command, name, async (corrections, tenant, client, of) => {
        const { pages, is_default } = await corrections.intentPages(tenant)
        const reader = new ClickHouseIntentPages(new QuestionReader(client), systemClock, async () => zoneOfTenant(of))
        return { is_default, pages: await reader.matches(tenant, pages) }
      })
      if (flags.json) return printJson(context.stdout, found)
      printTable(
        context.stdout,
        ['PAGE', `READ IN ${INTENT_PAGES.countedDays} DAYS`, 'SUCH AS'],
        found.pages.map(({ page, read_pages, example }) => [page, read_pages, example]),
      )
    })
}

interface WeightFlags extends Flags, Partial<HeatWeights> {
  readonly default?: boolean
}

function addHeatWeights(company: Command, context: CliContext): void {
  const command = addSubcommand(company, 'heat-weights <tenant>', 'show or set the points of each part of heat')
  for (const part of HEAT_PARTS) {
    command.addOption(integerOption(part, 'points', `points of ${part}`, { least: 0, most: HEAT_POINTS }))
  }
  command
    .option('--default', `take the default ones: ${HEAT_PARTS.map((part) => DEFAULT_HEAT_WEIGHTS[part]).join(', ')}`)
    .action(async (name: string, flags: WeightFlags, command: Command) => {
      const given = HEAT_PARTS.filter((part) => flags[part] !== undefined)
      if (flags.default && given.length > 0) throw new InputError('name points, or give --default: not both')
      await withCorrections(context, command, name, async (corrections, tenant) => {
        const held = await corrections.heatWeights(tenant)
        if (!flags.default && given.length === 0) {
          if (flags.json) return printJson(context.stdout, held)
          return printTable(context.stdout, ['PART', 'POINTS'], Object.entries(held))
        }
        const chosen = Object.fromEntries(given.map((part) => [part, flags[part]]))
        const weights = flags.default ? DEFAULT_HEAT_WEIGHTS : { ...held, ...chosen }
        printSetting(
          context,
          flags,
          'heat weights',
          await corrections.setHeatWeights(tenant, { weights, by: COMMAND_LINE }),
        )
      })
    })
}

interface FitFlags extends Flags {
  readonly good: readonly string[]
  readonly poor: readonly string[]
  readonly clear?: boolean
}

function addFit(company: Command, context: CliContext): void {
  const each = (value: string, all: readonly string[]) => [...all, value]
  addSubcommand(company, 'fit <tenant>', 'show or say what good companies are')
    .option('--good <filter>', 'a good sign, such as industry=Software; repeat it for more', each, [])
    .option('--poor <filter>', 'a sign that a company does not fit, such as classification=education', each, [])
    .option('--clear', 'say nothing about good companies')
    .action(async (name: string, flags: FitFlags, command: Command) => {
      const lines = [
        ...flags.good.map((where) => ({ is: 'good' as const, where })),
        ...flags.poor.map((where) => ({ is: 'poor' as const, where })),
      ]
      if (flags.clear && lines.length > 0) throw new InputError('give --good and --poor, or --clear: not both')
      const { FitProfile } = await import('../../../../schemas/dashboard/fit.ts')
      await assertValid(FitProfile, { lines })
      await withCorrections(context, command, name, async (corrections, tenant) => {
        if (flags.clear || lines.length > 0)
          return printSetting(context, flags, 'fit', await corrections.setFit(tenant, { lines, by: COMMAND_LINE }))
        const held = await corrections.fit(tenant)
        if (flags.json) return printJson(context.stdout, held)
        printTable(
          context.stdout,
          ['SIGN', 'FILTER', 'IN WORDS'],
          held.map(({ is, where, label }) => [is, where, label]),
        )
      })
    })
}

function printSetting(context: CliContext, flags: Flags, what: string, answer: CorrectedAnswer): void {
  if (flags.json) printJson(context.stdout, answer)
  else printLine(context.stdout, answer.companies === 0 ? NOTHING : `${what} changed; change ${answer.change_id}`)
}

async function correct(
  context: CliContext,
  command: Command,
  name: string,
  flags: Flags,
  companies: string[],
  wanted: CorrectionWanted,
): Promise<void> {
  const { CorrectionsBody } = await import('../../../../schemas/dashboard/corrections.ts')
  await assertValid(CorrectionsBody, { companies, ...wanted })
  print(
    context,
    flags,
    await withCorrections(context, command, name, (corrections, tenant) =>
      corrections.correct(tenant, { companies, wanted, by: COMMAND_LINE }),
    ),
  )
}

function print(context: CliContext, flags: Flags, answer: CorrectedAnswer): void {
  if (flags.json) printJson(context.stdout, answer)
  else if (answer.companies === 0) printLine(context.stdout, NOTHING)
  else
    printLine(
      context.stdout,
      `${numbered(answer.companies, 'company', 'companies')} corrected; change ${answer.change_id}`,
    )
}
