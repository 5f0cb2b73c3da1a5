import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { onPath } from '../programs.ts'
import { PYTHON } from './clients.ts'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const CLIENT = join(ROOT, 'src/client')
const TSX = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href
const GO = onPath(['go'])

type Env = Readonly<Record<string, string | undefined>>

/** The code of a page as one program, and what the page says that it prints. */
export interface MadeTour {
  /** Runs it and returns what it printed. */
  readonly script: (env: Env) => Promise<string>
  readonly output: string
}

/** The tour on the page of a client. */
export interface ClientTour {
  readonly name: string
  readonly page: string
  /** The reason why it cannot run here. */
  readonly skip: string | undefined
  /** @param here puts the address of the instance into a text */
  readonly run: (t: Test, page: string, here: (text: string) => string) => Promise<MadeTour>
}

interface Test {
  after(hook: () => void): void
}

export const CLIENT_TOURS: readonly ClientTour[] = [
  { name: 'TypeScript', page: 'typescript/README.md', skip: undefined, run: typescriptTour },
  {
    name: 'Python',
    page: 'python/README.md',
    skip: PYTHON === undefined ? 'there is no python3' : undefined,
    run: pythonTour,
  },
]

/** In a project of its own, into which the package was installed, and compiled as strictly as can be. */
async function typescriptTour(t: Test, page: string, here: (text: string) => string): Promise<MadeTour> {
  const { code, output } = tourOf(page, 'ts')
  const dir = temporaryFolder(t)
  writeFileSync(join(dir, 'package.json'), '{"type":"module","private":true}')
  const packed = await run(process.execPath, [join(CLIENT, 'typescript/pack.mjs'), '--out', dir])
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', packed.stdout.trim()], { cwd: dir })
  mkdirSync(join(dir, 'node_modules/@types'), { recursive: true })
  for (const name of ['@types/node', 'undici-types']) {
    symlinkSync(join(ROOT, 'node_modules', name), join(dir, 'node_modules', name))
  }
  const file = join(dir, 'tour.ts')
  writeFileSync(file, here(code))
  const strict = ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--types', 'node']
  const modules = ['--module', 'nodenext', '--target', 'es2023', '--noEmit']
  try {
    await run(join(ROOT, 'node_modules/.bin/tsc'), [...strict, ...modules, file], { cwd: dir })
  } catch (error) {
    throw new Error((error as { stdout: string }).stdout)
  }
  return { output, script: async (env) => await printedBy(process.execPath, ['--import', TSX, file], dir, env) }
}

async function pythonTour(t: Test, page: string, here: (text: string) => string): Promise<MadeTour> {
  const { code, output } = tourOf(page, 'python')
  const dir = temporaryFolder(t)
  writeFileSync(join(dir, 'ipid.py'), readFileSync(join(CLIENT, 'python/ipid.py')))
  writeFileSync(join(dir, 'tour.py'), here(code))
  return { output, script: async (env) => await printedBy(PYTHON!, ['-B', 'tour.py'], dir, env) }
}

/** The reason why Go's samples cannot be compiled here. */
export const NO_GO = GO === undefined ? 'there is no go' : undefined

/** Compiles and runs the samples in Go; returns what they printed. */
export async function runGoSamples(t: Test, env: Env, here: (text: string) => string): Promise<string> {
  const [begin, ...samples] = blocksOf('samples.md').flatMap(({ language, text }) => (language === 'go' ? [text] : []))
  const dir = temporaryFolder(t)
  const main = samples.map((text) => `func() {\n${text}}()\n`).join('')
  writeFileSync(join(dir, 'main.go'), here(`${begin}\nfunc main() {\n${main}}\n`))
  return await printedBy(GO!, ['run', 'main.go'], dir, env)
}

async function printedBy(command: string, args: readonly string[], dir: string, env: Env): Promise<string> {
  return (await run(command, [...args], { cwd: dir, env: { ...env, HOME: dir } as NodeJS.ProcessEnv })).stdout
}

/** The blocks of the section *Tour*: the code as one file, and the output that follows it. */
function tourOf(page: string, language: string): { readonly code: string; readonly output: string } {
  const blocks = blocksOf(page, 'Tour')
  const textOf = (wanted: string) => blocks.flatMap((block) => (block.language === wanted ? [block.text] : [])).join('')
  return { code: textOf(language), output: textOf('') }
}

/** @param section the title of a section; '': the whole page */
function blocksOf(page: string, section = ''): { readonly language: string; readonly text: string }[] {
  const whole = readFileSync(join(CLIENT, page), 'utf8')
  const text = section === '' ? whole : whole.split(`\n## ${section}\n`)[1]!.split('\n## ')[0]!
  return [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(([, language, code]) => {
    return { language: language!, text: code! }
  })
}

function temporaryFolder(t: Test): string {
  const dir = mkdtempSync(join(tmpdir(), 'ipid-client-'))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}
