import assert from 'node:assert/strict'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runCommand } from './command.ts'
import { installFolder } from './install-folder.ts'
import type { TestInstance } from './instance.ts'

export const SDKS = fileURLToPath(new URL('../sdks/', import.meta.url))

/**
 * Installs the libraries of `test/sdks` when they are missing. They have a folder of their own, because they take 160 MB, which
 * `npm start` would install too. Returns the reason when they cannot be installed.
 */
export async function installSdks(): Promise<string | undefined> {
  return await installFolder(SDKS)
}

/** A library of test/sdks/node.mjs, which describes its functions. */
export interface Library {
  readonly kind: string
  open(place: {
    readonly base: string
    readonly key: string
    readonly ip: string
    readonly options?: object
  }): Promise<{ first(): Promise<unknown>; send(name: string): Promise<unknown>; close(): Promise<unknown> }>
}

export async function nodeLibraries(): Promise<Readonly<Record<string, Library>>> {
  const { libraries } = (await import(join(SDKS, 'node.mjs'))) as { libraries: Record<string, Library> }
  return libraries
}

export interface CreatedSource {
  readonly source_id: string
  /** The server key; of a page, its browser key. */
  readonly key: string
  /** Only for a kind whose sources have both keys. */
  readonly browser_key?: string
  readonly blocks: readonly { readonly title: string; readonly code: string; readonly is_sample: boolean }[]
  readonly url: string
  readonly setup: string
}

/** Creates a source, as people do. @param url of the API, as senders see it */
export async function createSource(
  { dataDir, ready }: TestInstance,
  kind: string,
  tenant = 'demo',
  url = ready.url,
): Promise<CreatedSource> {
  const { code, stdout, stderr } = await runCommand(['source', 'create', tenant, kind, '--url', url, '--json'], {
    env: { DATA_DIR: dataDir },
  })
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout) as CreatedSource
}

/** A folder with networks of companies: number `n` has 17.n.0.0/16 and the domain `cn.example`. */
export function companiesDir(count: number): string {
  const dir = mkdtempSync(join(tmpdir(), 'ipid-companies-'))
  const lines = Array.from({ length: count }, (_, n) => `17.${n}.0.0/16,Company ${n},c${n}.example,business`)
  writeFileSync(join(dir, 'organisations.csv'), `network,business_name,domain,classification\n${lines.join('\n')}\n`)
  return dir
}
