import assert from 'node:assert/strict'
import { dirname, relative, resolve } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { analyse } from 'scslre'
import type { Node, SourceFile } from 'typescript/unstable/ast'
import * as is from 'typescript/unstable/ast/is'
import { API } from 'typescript/unstable/sync'

/*
 * Regular expressions meet input of any length, and one that backtracks blocks everything: 2,000 blanks took 11 s.
 * So each one is checked for super-linear time: the literals, and those made from constant text.
 */

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PROJECTS = ['tsconfig.json', 'src/dashboard/pages/tsconfig.json'].map((path) => resolve(ROOT, path))

/** Flagged expressions that may stay, each with the reason. */
const ALLOWED: Readonly<Record<string, string>> = {}

/** Files that make an expression from text that is not constant, each with the reason why it is safe. */
const BUILT: Readonly<Record<string, string>> = {
  'src/enrichment/bots/user-agent.ts': 'names from our own table, over at most 512 characters',
  'src/operations/status/redis/servers.ts': 'a constant name, over the INFO of Redis',
  'src/pipeline/sources/batch/files/csv-record.ts': 'a delimiter and a quote, over a sample of at most 64 KB',
}

interface Expression {
  readonly file: string
  readonly source: string
  readonly flags: string
}

const files = new Map<string, SourceFile>()
const constants = new Map<string, Node>()
const expressions: Expression[] = []
const built: string[] = []

function walk(node: Node, visit: (node: Node) => void): void {
  visit(node)
  node.forEachChild((child) => walk(child, visit))
}

/** The constant text of an expression; undefined when it depends on something else. */
function textOf(node: Node, file: string): string | undefined {
  if (is.isStringLiteral(node) || is.isNoSubstitutionTemplateLiteral(node)) return node.text
  if (is.isIdentifier(node)) {
    const value = constants.get(`${file}:${node.text}`)
    return value === undefined ? undefined : textOf(value, sourceOf(file, node.text) ?? file)
  }
  if (is.isTemplateExpression(node)) {
    const spans = node.templateSpans.map((span) => {
      const text = textOf(span.expression, file)
      return text === undefined ? undefined : text + span.literal.text
    })
    return spans.includes(undefined) ? undefined : node.head.text + spans.join('')
  }
  if (is.isCallExpression(node) && is.isPropertyAccessExpression(node.expression) && node.arguments.length === 1) {
    const [items, separator] = [itemsOf(node.expression.expression, file), textOf(node.arguments[0]!, file)]
    if (node.expression.name.text === 'join' && items !== undefined && separator !== undefined)
      return items.join(separator)
  }
  return undefined
}

function itemsOf(node: Node, file: string): string[] | undefined {
  if (is.isIdentifier(node)) {
    const value = constants.get(`${file}:${node.text}`)
    return value === undefined ? undefined : itemsOf(value, sourceOf(file, node.text) ?? file)
  }
  if (!is.isArrayLiteralExpression(node)) return undefined
  const items: string[] = []
  for (const element of node.elements) {
    const found = is.isSpreadElement(element) ? itemsOf(element.expression, file) : [textOf(element, file)]
    for (const item of found ?? [undefined]) {
      if (item === undefined) return undefined
      items.push(item)
    }
  }
  return items
}

const importedFrom = new Map<string, string>()

/** The file that exports a name to this file. */
function sourceOf(file: string, name: string): string | undefined {
  return importedFrom.get(`${file}:${name}`)
}

function noteConstants(file: string, sourceFile: SourceFile): void {
  walk(sourceFile, (node) => {
    if (is.isVariableDeclaration(node) && is.isIdentifier(node.name) && node.initializer !== undefined)
      constants.set(`${file}:${node.name.text}`, node.initializer)
  })
}

function noteImports(file: string, sourceFile: SourceFile): void {
  walk(sourceFile, (node) => {
    if (!is.isImportDeclaration(node) || !is.isStringLiteral(node.moduleSpecifier)) return
    const from = relative(ROOT, resolve(ROOT, dirname(file), node.moduleSpecifier.text))
    walk(node, (part) => {
      const name = is.isImportSpecifier(part) ? part.name.text : undefined
      const value = name === undefined ? undefined : constants.get(`${from}:${name}`)
      if (value === undefined) return
      constants.set(`${file}:${name}`, value)
      importedFrom.set(`${file}:${name}`, from)
    })
  })
}

function collect(file: string, sourceFile: SourceFile): void {
  walk(sourceFile, (node) => {
    if (is.isRegularExpressionLiteral(node)) {
      const end = node.text.lastIndexOf('/')
      expressions.push({ file, source: node.text.slice(1, end), flags: node.text.slice(end + 1) })
    }
    const isMade = (is.isNewExpression(node) || is.isCallExpression(node)) && is.isIdentifier(node.expression)
    if (!isMade || (node.expression as { text?: string }).text !== 'RegExp') return
    const [text, flags] = node.arguments ?? []
    const source = text === undefined ? '' : textOf(text, file)
    if (source === undefined) built.push(file)
    else expressions.push({ file, source, flags: flags === undefined ? '' : (textOf(flags, file) ?? '') })
  })
}

const api = new API({ cwd: ROOT })
try {
  for (const openProject of PROJECTS) {
    const project = api.updateSnapshot({ openProject }).getProject(openProject)
    for (const name of project?.program.getSourceFileNames() ?? []) {
      const path = relative(ROOT, name)
      const sourceFile = /^(?:src|schemas|pipelines)\//.test(path) ? project?.program.getSourceFile(name) : undefined
      if (sourceFile !== undefined) files.set(path, sourceFile)
    }
  }
} finally {
  api.close()
}
for (const [file, sourceFile] of files) noteConstants(file, sourceFile)
for (const [file, sourceFile] of files) noteImports(file, sourceFile)
for (const [file, sourceFile] of files) collect(file, sourceFile)

function isSuperLinear({ source, flags }: Pick<Expression, 'source' | 'flags'>): boolean {
  return analyse({ source, flags }, { maxReports: 1 }).reports.length > 0
}

test('no regular expression takes more than linear time', () => {
  assert.ok(expressions.length > 300, `${expressions.length} expressions in ${files.size} files`)
  const flagged = expressions.filter(isSuperLinear).map(({ file, source, flags }) => `${file}: /${source}/${flags}`)
  assert.deepEqual(flagged.sort(), Object.keys(ALLOWED).sort())
})

test('expressions are made from constant text, except for those with a reason', () => {
  assert.deepEqual([...new Set(built)].sort(), Object.keys(BUILT).sort())
  assert.ok(
    expressions.some(({ file, source }) => file.endsWith('timestamps.ts') && source.includes('|UTC|GMT|')),
    'constants of a file are followed',
  )
  assert.ok(
    expressions.some(({ file, source }) => file.endsWith('settings.ts') && source.includes('2[0-3]')),
    'and those of other files',
  )
})

test('the checker flags expressions that once took minutes', () => {
  const at = (expression: RegExp) => isSuperLinear(expression)
  assert.deepEqual([/\s*\s*x/, /(a+)+b/, /[;\s]+$/, /-+$/, /^\s+$/m, /"(?:[^"\\]+|\\.)*"/].map(at), [
    ...[true, true, true, true, false, true],
  ])
})
