import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Node } from 'typescript/unstable/ast'
import * as is from 'typescript/unstable/ast/is'
import { API } from 'typescript/unstable/sync'
import { en } from '../../../src/dashboard/pages/texts/en/index.ts'

/*
 * The pages have no text of their own: all of them are in texts/, where a second language can stand beside English. So this looks for English
 * words in the code of the pages.
 */

const PAGES = fileURLToPath(new URL('../../../src/dashboard/pages', import.meta.url))

/** Names that no language translates. */
const NAMES = new Set(['ipid', 'WordPress', 'Shopify', 'Next.js', 'GTM', 'AS'])
/** Elements with code: commands and names of settings. Their attribute `label` is a text. */
const CODE = new Set(['code', 'kbd', 'CodeLine', 'CodeBlock'])
/** Attributes, properties and parameters whose values people read. */
const READ =
  /^(?:label|title|aria-label|alt|placeholder|description|hint|summary|legend|text|note|unit|none|about|confirm|verb|field|dayTitle|nameless|fallback)$/
/** Keys of lists tell items apart. */
const KEYS = /^(?:key|keyOf)$/

/** Words of a label: more than a name of code. */
const isLabel = (text: string) =>
  /\p{L}/u.test(text) && (/^\p{Lu}\p{Ll}*(?:$|[\s,.:;…?!])/u.test(text) || / \p{L}/u.test(text))
/** Words of a sentence, wherever they are. A query of a URL is none. */
const isSentence = (text: string) =>
  !text.includes('=') && (/^\p{Lu}\p{Ll}+ [\p{L}\p{N}]/u.test(text) || /\p{Ll}{2,} \p{Ll}{2,} \p{Ll}{2,}/u.test(text))
/** The same for the text between two values. */
const isPart = (text: string) => isSentence(text) || /(?:^| )\p{Ll}{2,} \p{Ll}{2,}(?:$|[ .,:])/u.test(text)

/** The English words in a file of the pages, each with its line. */
function wordsIn(file: string, root: Node & { readonly text: string }): string[] {
  const found: string[] = []
  const report = (node: Node, text: string) => {
    const words = text.trim().replaceAll(/\s+/g, ' ')
    if (NAMES.has(words)) return
    // The position of a node includes the blanks before it.
    const line = root.text.slice(0, node.end).split('\n').length
    found.push(`${file}:${line}: ${words}`)
  }
  const visit = (node: Node, isRead: boolean) => {
    if (is.isImportDeclaration(node) || is.isTypeNode(node)) return
    if (is.isJsxElement(node) || is.isJsxSelfClosingElement(node)) {
      const { tagName, attributes } = is.isJsxElement(node) ? node.openingElement : node
      const isCode = CODE.has(nameOf(tagName))
      attributes.forEachChild((attribute) => {
        if (!isCode || (is.isJsxAttribute(attribute) && nameOf(attribute.name) === 'label')) visit(attribute, false)
      })
      if (is.isJsxElement(node) && !isCode) for (const child of node.children) visit(child, true)
      return
    }
    if (is.isJsxText(node)) {
      if (/\p{L}/u.test(node.text)) report(node, node.text)
      return
    }
    if (is.isJsxAttribute(node) || is.isPropertyAssignment(node)) {
      const name = nameOf(node.name)
      if (KEYS.test(name)) return
      const { initializer } = node
      if (initializer !== undefined) visit(initializer, READ.test(name))
      return
    }
    if (is.isStringLiteral(node) || is.isNoSubstitutionTemplateLiteral(node)) {
      if (isSentence(node.text) || (isRead && isLabel(node.text))) report(node, node.text)
      return
    }
    if (is.isTemplateExpression(node)) {
      const texts = [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)]
      if (texts.some(isPart)) report(node, texts.join('…'))
      for (const { expression } of node.templateSpans) visit(expression, isRead)
      return
    }
    // What an element or attribute shows may depend on a condition; arguments of a call are something else.
    const staysRead =
      isRead &&
      (is.isJsxExpression(node) ||
        is.isConditionalExpression(node) ||
        is.isParenthesizedExpression(node) ||
        is.isBinaryExpression(node))
    node.forEachChild((child) => visit(child, staysRead))
  }
  visit(root, false)
  return found
}

const nameOf = (node: Node) => ('text' in node ? String(node.text) : '')

/** The files of a project of TypeScript. */
function inProject<T>(
  config: string,
  read: (project: NonNullable<ReturnType<ReturnType<API['updateSnapshot']>['getProject']>>) => T,
): T {
  const api = new API({ cwd: PAGES })
  try {
    return read(api.updateSnapshot({ openProject: config }).getProject(config)!)
  } finally {
    api.close()
  }
}

/** A project with one file. */
function withFile(t: { after(end: () => void): void }, name: string, text: string): { config: string; file: string } {
  const folder = mkdtempSync(join(tmpdir(), 'ipid-texts-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const [config, file] = [join(folder, 'tsconfig.json'), join(folder, name)]
  writeFileSync(config, JSON.stringify({ extends: join(PAGES, 'tsconfig.json'), include: ['.'] }))
  writeFileSync(file, text)
  return { config, file }
}

test('pages have no words of their own: all texts are in texts/', () => {
  const findings = inProject(join(PAGES, 'tsconfig.json'), ({ program }) => {
    const names = program.getSourceFileNames().filter((name) => name.startsWith(`${PAGES}/`))
    assert.ok(names.length > 250, `${names.length} files`)
    return names
      .map((name) => relative(PAGES, name))
      .filter((name) => !name.startsWith('texts/'))
      .flatMap((name) => wordsIn(name, program.getSourceFile(join(PAGES, name))!))
  })
  assert.deepEqual(findings, [])
})

test('words are found in elements, labels, toasts and sentences, and not in code', (t) => {
  const text = `
    const Shown = ({ name, isNew }) => (
      <Page title="Home" description={isNew ? 'new' : 'Nothing here'}>
        word {name} is <b>bold</b>
        {isNew && 'Fresh'}
        <code>./ipid status</code>
        <CodeLine text="./ipid doctor now please" label="Command" />
        <Row class="is-wide is-first" key={\`row of \${name}\`}>{isNew ? 'none' : name}</Row>
      </Page>
    )
    const columns = [{ key: 'when', label: 'When', text: 'wrap' }]
    const toasts = () => toast({ text: \`\${columns} was removed.\` })
    const sentence = (count) => (count > 1 ? 'Choose a segment first.' : 'waits until they answer')
    const ids = ['add tags', \`company \${sentence}\`, 'tag=a or status=b and not c']
  `
  const { config, file } = withFile(t, 'sample.tsx', text)
  const found = inProject(config, ({ program }) => wordsIn('sample.tsx', program.getSourceFile(file)!))
  assert.deepEqual(
    found.map((finding) => finding.replace(/^.*?: /, '')),
    [
      ...['Home', 'Nothing here', 'word', 'is', 'bold', 'Fresh', 'Command', 'When', '… was removed.'],
      ...['Choose a segment first.', 'waits until they answer'],
    ],
  )
})

test('a language with a missing text does not compile, and neither does one with a text of another kind', (t) => {
  const languages = `
    import { en } from '${PAGES}/texts/en/index.ts'
    import type { Texts } from '${PAGES}/texts/texts.ts'
    export const whole: Texts = { ...en, home: { home: { ...en.home.home, title: 'Start' } } }
    const { title, ...others } = en.home.home
    export const missing: Texts = { ...en, home: { home: others } }
    export const other: Texts = { ...en, home: { home: { ...en.home.home, began: (page: number) => String(page) } } }
  `
  const { config, file } = withFile(t, 'languages.ts', languages)
  const problems = inProject(config, ({ program }) => program.getSemanticDiagnostics(file))
  const lines = languages.split('\n')
  const failed = problems.map(({ pos }) => lines[languages.slice(0, pos).split('\n').length - 1]!.trim().split(':')[0])
  assert.deepEqual([...new Set(failed)], ['export const missing', 'export const other'])
})

/** Rooms for operators, whose word for a workspace is that of the API and the commands. */
const OF_OPERATORS = /^(?:deadLetters|start|system|tenants|shell\.pages\.tenants)(?:\.|$)/

/** Paths of the texts that match. A text that is a function counts as it is written. */
function textsWith(pattern: RegExp, texts: object, path = ''): string[] {
  return Object.entries(texts).flatMap(([name, text]) => {
    const at = path === '' ? name : `${path}.${name}`
    if (typeof text === 'object' && text !== null) return textsWith(pattern, text, at)
    return pattern.test(String(text)) ? [at] : []
  })
}

test('pages for people say workspace, and those for operators tenant', () => {
  const found = textsWith(/\btenants?\b/i, en).filter((path) => !OF_OPERATORS.test(path))
  assert.deepEqual(found, [])
  assert.deepEqual(textsWith(/\btenants?\b/i, { a: { b: (n: number) => `${n} tenants`, c: 'workspace' } }), ['a.b'])
})

test('names of settings are in texts for operators only', () => {
  // Only operators see how to set a bucket. YOUR_KEY is a place in a command.
  const found = textsWith(/\b(?!YOUR_KEY)[A-Z]+_[A-Z_]+\b/, en)
  assert.deepEqual(found, ['exports.list.setBucket'])
})
