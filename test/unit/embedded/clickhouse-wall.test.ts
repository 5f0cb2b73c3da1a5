import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { walledCommand } from '../../../src/embedded/clickhouse/wall.ts'
import { atEnd } from '../../support/at-end.ts'

const run = promisify(execFile)

/** 0 or less when the kernel has none. */
async function landlockVersion(perl: string): Promise<number> {
  return Number((await run(perl, ['-e', 'print syscall(444, 0, 0, 1)'])).stdout)
}

/** Tries to open files and a port, and prints the code of each error. */
const PROBE = `
const { openSync, mkdirSync, renameSync, writeFileSync } = require('node:fs')
const [own, parent, port] = process.argv.slice(1)
const codeOf = (work) => { try { work(); return 'done' } catch ({ code }) { return code } }
const codes = {
  own: codeOf(() => { mkdirSync(own + '/a'); mkdirSync(own + '/b'); writeFileSync(own + '/a/x', ''); renameSync(own + '/a/x', own + '/b/x') }),
  outside: codeOf(() => openSync('/etc/hostname')),
  write: codeOf(() => writeFileSync(own + '.outside', '')),
  program: codeOf(() => writeFileSync(${JSON.stringify(join(import.meta.dirname, 'x'))}, '')),
  environment: codeOf(() => openSync('/proc/' + parent + '/environ')),
  root: codeOf(() => openSync('/proc/self/root/etc/hostname')),
}
const socket = require('node:net').connect(Number(port), '127.0.0.1')
socket.once('error', ({ code }) => console.log(JSON.stringify({ ...codes, port: code })))
socket.once('connect', () => { console.log(JSON.stringify({ ...codes, port: 'done' })); socket.destroy() })
`

test('in the sandbox a process opens its folder, and no other file, process or port', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'ipid-wall-'))
  atEnd(t, async () => rmSync(folder, { recursive: true }))
  const server = createServer().listen(0, '127.0.0.1')
  atEnd(t, async () => void server.close())
  const [command, ...args] = walledCommand(folder)
  const version = command === undefined ? 0 : await landlockVersion(command)
  if (command === undefined || version < 2) return t.skip('no Landlock, or no Perl')
  const { port } = server.address() as AddressInfo
  const probed = [process.execPath, '-e', PROBE, folder, String(process.pid), String(port)]
  const codes = JSON.parse((await run(command, [...args, ...probed])).stdout)
  const denied = { outside: 'EACCES', write: 'EACCES', program: 'EACCES', environment: 'EACCES', root: 'EACCES' }
  const { port: connecting, ...files } = codes
  assert.deepEqual(files, { own: 'done', ...denied })
  assert.equal(connecting, version >= 4 ? 'EACCES' : 'done')
})
