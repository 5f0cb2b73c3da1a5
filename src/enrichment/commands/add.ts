import { mkdir } from 'node:fs/promises'
import type { CliContext } from '../../terminal/context.ts'
import { printJson, printLine, printTable } from '../../terminal/print.ts'
import { entryOf, KNOWN_SOURCES, type KnownSource, knownSource } from '../files/update/known-sources.ts'
import { addSource, SOURCES_FILE } from '../files/update/sources.ts'

interface AddRequest {
  /** Names of known sources; an empty list prints all of them. */
  readonly names: readonly string[]
  readonly dir: string
  readonly json: boolean
}

/** `ipid db add`: adds known sources to `sources.json`, and prints their licences. */
export async function addSources({ names, dir, json }: AddRequest, { stdout, env }: CliContext): Promise<void> {
  if (names.length === 0) {
    listSources(json, stdout)
    return
  }
  await mkdir(dir, { recursive: true, mode: 0o700 })
  const added = []
  const needed = names.flatMap((name) => [name, ...(knownSource(name).needs ?? [])])
  for (const source of [...new Set(needed)].map(knownSource)) {
    const entry = entryOf(source, source.account && env[source.account.env])
    added.push({ source, isNew: await addSource(dir, entry) })
  }
  if (json)
    return printJson(
      stdout,
      added.map(({ source, isNew }) => ({ ...sourceJson(source), added: isNew })),
    )
  for (const { source, isNew } of added) {
    printLine(stdout, `${source.file}: ${isNew ? `added to ${SOURCES_FILE}` : `already in ${SOURCES_FILE}`}`)
    const { keyEnv, keyFrom, attribution, account } = source
    printLine(stdout, `  licence: ${source.licence}`)
    if (attribution !== undefined) printLine(stdout, `  show with results: ${attribution}`)
    if (keyEnv !== undefined && !env[keyEnv]) printLine(stdout, `  needs a key in ${keyEnv}, free from ${keyFrom}`)
    if (account !== undefined && !env[account.env]) {
      printLine(stdout, `  set ${account.env} to your account number to add it with the newer of its two URLs`)
    }
  }
  printLine(stdout, `The service fetches due sources by itself. ./ipid db update fetches them now into ${dir}.`)
}

function listSources(json: boolean, stdout: NodeJS.WritableStream): void {
  if (json) printJson(stdout, KNOWN_SOURCES.map(sourceJson))
  else
    printTable(
      stdout,
      ['NAME', 'HOLDS', 'KEY', 'LICENCE'],
      KNOWN_SOURCES.map(({ name, holds, keyEnv, licence }) => [name, holds, keyEnv ?? '', licence]),
    )
}

function sourceJson({ name, holds, url, file, schedule, keyEnv, keyFrom, licence, attribution }: KnownSource): object {
  return {
    name,
    holds,
    url,
    file,
    schedule,
    key_env: keyEnv ?? null,
    key_from: keyFrom ?? null,
    licence,
    attribution: attribution ?? null,
  }
}
