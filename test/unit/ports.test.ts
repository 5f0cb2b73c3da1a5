import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { systemPortsFrom, takePort } from '../support/ports.ts'

const PORTS = 200
const TAKE = `
  import { takePort } from './test/support/ports.ts'
  console.log(JSON.stringify(Array.from({ length: ${PORTS} }, takePort)))`

test('no two processes take the same port, nor one that the system assigns', async () => {
  const run = promisify(execFile)
  const others = await Promise.all(
    [1, 2].map(() => run(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', TAKE])),
  )
  const own = Array.from({ length: PORTS }, takePort)
  const [first, second] = others.map(({ stdout }) => JSON.parse(stdout) as number[])
  const isOurs = (port: number) => own.includes(port)
  assert.deepEqual([first!.filter(isOurs), second!.filter(isOurs)], [[], []])
  assert.equal(new Set(own).size, PORTS)
  assert.ok([...own, ...first!, ...second!].every((port) => port < systemPortsFrom()))
})

test('a port is given out once, and an error says when there are no more', async () => {
  const take = `
    import { takePort } from './test/support/ports.ts'
    const ports = []
    try { for (;;) ports.push(takePort()) } catch ({ message }) { console.log(JSON.stringify({ ports, message })) }`
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', take])
  const { ports, message } = JSON.parse(stdout)
  assert.ok(ports.length > PORTS, `only ${ports.length} ports`)
  assert.equal(new Set(ports).size, ports.length)
  assert.match(message, /at most 511 ports/)
})
