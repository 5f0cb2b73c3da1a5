import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { type Command, Help } from 'commander'
import { built } from '../../../src/bootstrap/build.mjs'
import { COMMANDS } from '../../../src/cli/program.ts'
import type { CliContext } from '../../../src/terminal/context.ts'
import { runCommand } from '../../support/command.ts'
import { PAGES, readDocument } from '../../support/documents.ts'

test('the list of commands shows the name and arguments that each command has', async () => {
  const own = await Promise.all(
    COMMANDS.map(async ([, , load]) => {
      const create = await load()
      return new Help().subcommandTerm(await create({} as CliContext, () => {}))
    }),
  )
  assert.deepEqual(
    own,
    COMMANDS.map(([term]) => term),
  )
})

/** All flags that the help of a command and of those below it shows. */
function flagsOf(command: Command): string[] {
  const help = new Help()
  const own = help.visibleOptions(command).flatMap(({ long }) => long ?? [])
  return [...own, ...help.visibleCommands(command).flatMap(flagsOf)]
}

test('a page names each flag that --help shows', async () => {
  const pages = PAGES.filter((page) => page !== 'CHANGELOG.md').map(readDocument)
  const named = new Set(pages.flatMap((text) => text.match(/--[a-z][a-z-]+/g) ?? []))
  const missing: string[] = []
  for (const [term, , load] of COMMANDS) {
    const command = await (await load())({} as CliContext, () => {})
    for (const flag of flagsOf(command)) if (!named.has(flag)) missing.push(`${term}: ${flag}`)
  }
  assert.deepEqual(missing, [])
})

test('a misspelled command is refused with the right name', async () => {
  const { code, stderr } = await runCommand(['tenat', 'list'])
  assert.deepEqual([code, stderr], [2, "ipid: unknown command 'tenat' (Did you mean tenant?)\n"])
})

test('help and a lookup in data files open no connection', async (t) => {
  let connections = 0
  const server = createServer((socket) => {
    connections++
    socket.destroy()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const env = { REDIS_URL: `redis://127.0.0.1:${port}`, CLICKHOUSE_URL: `http://127.0.0.1:${port}` }
  for (const args of [['--help'], ['status', '--help'], ['enrich', '17.253.144.10', '--json']]) {
    assert.equal((await runCommand(args, { env })).code, 0, args.join(' '))
  }
  assert.equal(connections, 0)
  assert.notEqual((await runCommand(['tenant', 'list'], { env })).code, 0)
  assert.notEqual(connections, 0, 'a command that needs a store')
})

/** The packages in a file of the build and in all files that it imports at its start. */
function packagesOf(path: string, seen = new Set<string>()): string[] {
  if (seen.has(path)) return []
  seen.add(path)
  const text = readFileSync(path, 'utf8')
  const own = [...text.matchAll(/^\s*\/\/ node_modules\/((?:@[^/]+\/)?[^/]+)/gm)].map(([, name]) => name!)
  const imported = [...text.matchAll(/^(?:\} from|import) "(\.[^"]+)";$/gm)].map(([, file]) =>
    join(dirname(path), file!),
  )
  return [...new Set([...own, ...imported.flatMap((file) => packagesOf(file, seen))])].sort()
}

/** Finds the packages that a module of src loads in the build. */
async function findPackages(): Promise<(source: string) => string[]> {
  const dir = join(await built(), 'program')
  const paths = readdirSync(dir, { recursive: true, encoding: 'utf8' }).map((name) => join(dir, name))
  const texts = paths.filter((path) => path.endsWith('.mjs')).map((path) => [path, readFileSync(path, 'utf8')] as const)
  return (source) => packagesOf(texts.find(([, text]) => text.includes(`\n// src/${source}.ts\n`))![0])
}

test('the program and its short commands begin with few packages', async () => {
  const packages = await findPackages()
  const commands = ['tenants/commands/tenant', 'tenants/commands/key', 'tenants/rules/commands/command', 'cli/version']
  for (const source of ['main', 'operations/status/commands/status', ...commands]) {
    assert.deepEqual(packages(source), ['commander'], source)
  }
})

test('a status and a version load the clients of the stores, and no code of the pipeline', async () => {
  const packages = await findPackages()
  const clients = [...packages('stores/redis/connect'), ...packages('stores/clickhouse/client')]
  const loaded = [
    ...['operations/status/role/sources', 'operations/status/collect'],
    ...['terminal/stores', 'terminal/instance', 'stores/redis/data-form', 'stores/clickhouse/migrate'],
  ]
  for (const source of loaded) {
    assert.deepEqual(
      packages(source).filter((name) => !clients.includes(name) && name !== 'commander'),
      [],
      source,
    )
  }
})
