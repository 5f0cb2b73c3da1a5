import assert from 'node:assert/strict'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { runCommand } from '../support/command.ts'
import { FileServer } from '../support/file-server.ts'
import { ASN, setUp } from '../support/updates.ts'

test('a key from the environment goes where the source says, and never appears in output', async (t) => {
  const { dir, server, files } = await setUp(t)
  server.serve('/asn.mmdb', ASN)
  server.handle('/fail', (_request, response) => response.writeHead(401, 'No').end('denied'))
  const sources = [
    { url: `${server.url}/asn.mmdb?key={key}`, file: 'query.mmdb', key_env: 'KEY' },
    { url: `${server.url}/asn.mmdb`, file: 'bearer.mmdb', key_env: 'KEY' },
    { url: `${server.url}/asn.mmdb`, file: 'basic.mmdb', key_env: 'KEY', key_user: '12345' },
    { url: `${server.url}/fail?key={key}`, file: 'fail.mmdb', key_env: 'KEY' },
    { url: `${server.url}/asn.mmdb`, file: 'unset.mmdb', key_env: 'OTHER_KEY' },
  ]
  await writeFile(join(dir, 'sources.json'), JSON.stringify(sources))
  const key = 'sec&ret/1'
  const { code, stdout, stderr } = await runCommand(['db', 'update', '--json'], { env: { ENRICH_DIR: dir, KEY: key } })
  assert.equal(code, 1)
  assert.deepEqual(
    server.requests.map(({ path, headers }) => [path, headers.authorization]),
    [
      ['/asn.mmdb?key=sec%26ret%2F1', undefined],
      ['/asn.mmdb', `Bearer ${key}`],
      ['/asn.mmdb', `Basic ${Buffer.from(`12345:${key}`).toString('base64')}`],
      ['/fail?key=sec%26ret%2F1', undefined],
    ],
  )
  const reports = JSON.parse(stdout)
  assert.equal(reports[3].reason, 'the server answered 401 No')
  assert.equal(reports[4].reason, 'the environment variable OTHER_KEY is not set')
  const state = await readFile(join(dir, '.sources-state.json'), 'utf8')
  for (const text of [stdout, stderr, state]) assert.doesNotMatch(text, /sec|ret/)
  assert.deepEqual(await files(), ['basic.mmdb', 'bearer.mmdb', 'query.mmdb', 'sources.json'])
})

test('errors show neither a key nor a URL that holds it', async (t) => {
  const { dir, server, only } = await setUp(t)
  server.serve('/asn.mmdb', ASN)
  const source = { url: `${server.url}/asn.mmdb?token=in-the-url`, file: 'asn.mmdb', key_env: 'KEY' }
  for (const key of ['sec\nret', 'sec\u0001ret']) {
    const { status, reason } = await only(source, { env: { KEY: key } })
    assert.deepEqual(
      [status, reason],
      ['failed', 'the environment variable KEY holds characters that are not valid in a key'],
    )
  }
  assert.equal(
    (await only(source, { env: { KEY: 'secret\n' } })).status,
    'added',
    'the line feed at the end of the file is not part of it',
  )
  assert.equal(server.requests[0]?.headers.authorization, 'Bearer secret')
  assert.equal((await only(source, { env: { KEY: 'secret' } })).status, 'unchanged')
  assert.doesNotMatch(await readFile(join(dir, '.sources-state.json'), 'utf8'), /in-the-url|secret/)

  await writeFile(join(dir, 'sources.json'), '[]', { mode: 0o600 })
  await runCommand(['db', 'add', 'iptoasn'], { env: { ENRICH_DIR: dir } })
  const made = join(dir, 'not-there-yet')
  assert.equal((await runCommand(['db', 'add', 'iptoasn', '--enrich-dir', made])).code, 0)
  assert.equal((await stat(join(dir, 'sources.json'))).mode & 0o777, 0o600)
})

test('redirects are followed up to a limit, and take no key to another host', async (t) => {
  const { server, only } = await setUp(t)
  const other = await FileServer.start(t)
  other.serve('/asn.mmdb', ASN)
  server.handle('/here', (_request, response) => response.writeHead(302, { location: '/there' }).end())
  server.handle('/there', (_request, response) => response.writeHead(307, { location: `${other.url}/asn.mmdb` }).end())
  const source = { url: `${server.url}/here`, file: 'asn.mmdb', key_env: 'KEY' }
  assert.equal((await only(source, { env: { KEY: 'secret' } })).status, 'added')
  assert.deepEqual(
    server.requests.map(({ headers }) => headers.authorization),
    ['Bearer secret', 'Bearer secret'],
  )
  assert.equal(other.requests[0]?.headers.authorization, undefined)
  server.handle('/loop', (_request, response) => response.writeHead(302, { location: '/loop' }).end())
  assert.match(
    (await only({ url: `${server.url}/loop`, file: 'loop.mmdb' })).reason ?? '',
    /redirects more than 5 times/,
  )
  server.handle('/file', (_request, response) => response.writeHead(302, { location: 'file:///etc/passwd' }).end())
  assert.match((await only({ url: `${server.url}/file`, file: 'file.mmdb' })).reason ?? '', /redirects to file:/)
})
