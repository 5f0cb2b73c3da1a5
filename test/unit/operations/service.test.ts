import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { installService, type ServiceHost, uninstallService } from '../../../src/operations/service/service.ts'
import { type ServiceFacts, systemdUnit } from '../../../src/operations/service/unit.ts'

const FACTS: ServiceFacts = {
  ...{ name: 'ipid', user: 'ipid', node: process.execPath, root: '/opt/ipid', dataDir: '/var/lib/ipid' },
  ...{ environmentFile: '/etc/ipid/ipid.env', path: '/usr/bin:/bin' },
}

/** Values of a key of a unit. */
const valuesOf = (unit: string, key: string) =>
  unit.split('\n').flatMap((line) => (line.startsWith(`${key}=`) ? [line.slice(key.length + 1)] : []))

test('a unit restarts ipid after every end, as a user that writes to its data only', () => {
  const unit = systemdUnit(FACTS)
  const one = (key: string) => valuesOf(unit, key).join()
  assert.deepEqual(['Restart', 'User', 'ProtectSystem', 'StateDirectory', 'UMask'].map(one), [
    ...['always', 'ipid', 'strict', 'ipid', '0077'],
  ])
  assert.equal(one('ExecStart'), `${process.execPath} /opt/ipid/src/ipid.mjs start`)
  assert.equal(one('Environment'), 'DATA_DIR=/var/lib/ipid PATH=/usr/bin:/bin NODE_ENV=production')
  assert.deepEqual(valuesOf(systemdUnit({ ...FACTS, dataDir: '/srv/x' }), 'ReadWritePaths'), ['/srv/x'])
})

test('a path with a blank, a quote, a percent or a dollar sign is one word', () => {
  const unit = systemdUnit({ ...FACTS, root: '/opt/a "b" 5% $x', dataDir: '/srv/c $d 5%' })
  assert.deepEqual(valuesOf(unit, 'ExecStart'), [`${process.execPath} "/opt/a \\"b\\" 5%% $$x/src/ipid.mjs" start`])
  assert.match(valuesOf(unit, 'Environment')[0]!, /^"DATA_DIR=\/srv\/c \$d 5%%" /)
})

const hasAnalyze = spawnSync('systemd-analyze', ['--version']).status === 0

test('systemd takes the unit without a warning', { skip: hasAnalyze ? false : 'no systemd-analyze' }, (t) => {
  const dir = temporary(t)
  const root = join(dir, 'a "b" 5% $x')
  mkdirSync(join(root, 'src'), { recursive: true })
  for (const [name, facts] of Object.entries({
    plain: { ...FACTS, user: 'root', root: dir },
    odd: { ...FACTS, user: 'root', root, dataDir: root },
  })) {
    const file = join(dir, `${name}.service`)
    writeFileSync(file, systemdUnit(facts))
    const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' })
    // Warnings about units of the machine itself are not ours.
    const ours = (stdout + stderr).split('\n').filter((line) => line.includes(`${name}.service`))
    assert.deepEqual([status, ours], [0, []], stdout + stderr)
  }
})

interface TestHost extends ServiceHost {
  readonly ran: string[]
}

/** A machine in a folder. It has the user nobody only. */
function machine(
  t: TestContext,
  { fails = '', ...facts }: Partial<ServiceHost> & { readonly fails?: string } = {},
): TestHost {
  const ran: string[] = []
  const users = new Set(['nobody'])
  return {
    ...{ hasSystemd: true, isRoot: true, root: temporary(t), ran, ...facts },
    async run(program, args) {
      const line = [program, ...args].join(' ')
      ran.push(line)
      if (fails !== '' && line.includes(fails)) throw new Error('it did not work')
      if (program === 'useradd') users.add(args.at(-1)!)
      if (program === 'getent' && !users.has(args.at(-1)!)) throw new Error('none')
      return program === 'id' ? String(args[0] === '-u' ? process.getuid!() : process.getgid!()) : ''
    },
  }
}

function temporary(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'ipid-service-'))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

test('an installation makes user, settings and unit, and a second one keeps what a person changed', async (t) => {
  const host = machine(t)
  const done = await installService(FACTS, host)
  const [unit, settings] = [join(host.root, 'etc/systemd/system/ipid.service'), join(host.root, 'etc/ipid/ipid.env')]
  assert.deepEqual(done, { unit, createdUser: 'ipid', createdSettings: settings })
  assert.equal(readFileSync(unit, 'utf8'), systemdUnit(FACTS))
  assert.equal(statSync(settings).mode & 0o777, 0o600)
  assert.deepEqual(host.ran.slice(-3), ['systemctl daemon-reload', 'systemctl enable ipid', 'systemctl restart ipid'])
  assert.ok(host.ran.includes(`runuser -u ipid -- ${process.execPath} /opt/ipid/src/ipid.mjs --version`))
  writeFileSync(settings, 'PORT=80\n')
  assert.deepEqual(await installService({ ...FACTS, root: '/opt/newer' }, host), { unit })
  assert.equal(readFileSync(settings, 'utf8'), 'PORT=80\n')
  assert.match(readFileSync(unit, 'utf8'), /\/opt\/newer\/src\/ipid\.mjs start/)

  assert.deepEqual(await uninstallService('ipid', host), { unit })
  assert.deepEqual(host.ran.slice(-2), ['systemctl disable --now ipid', 'systemctl daemon-reload'])
  assert.equal(readFileSync(settings, 'utf8'), 'PORT=80\n', 'settings stay')
  await assert.rejects(uninstallService('ipid', host), /^InputError: there is no .*ipid\.service$/)
})

test('what is missing is said before anything is changed', async (t) => {
  const refused = async (host: TestHost, message: RegExp, facts: ServiceFacts = FACTS) => {
    await assert.rejects(installService(facts, host), message)
    assert.ok(!host.ran.some((line) => line.startsWith('systemctl')), host.ran.join('\n'))
  }
  await refused(machine(t, { hasSystemd: false }), /systemd does not manage this machine/)
  await refused(machine(t, { isRoot: false }), /only root may install a service: sudo \.\/ipid service install/)
  await refused(machine(t, { fails: 'useradd' }), /cannot make the user ipid: it did not work/)
  await refused(
    machine(t, { fails: 'runuser' }),
    /the user ipid cannot run .*ipid\.mjs .*where every user may read them/,
  )
  const foreign = machine(t)
  const unit = join(foreign.root, 'etc/systemd/system/ipid.service')
  mkdirSync(dirname(unit), { recursive: true })
  writeFileSync(unit, '[Unit]\n')
  await refused(foreign, /was not written by ipid: remove it, or give another --name/)
  await assert.rejects(uninstallService('ipid', foreign), /was not written by ipid/)
  assert.equal(readFileSync(unit, 'utf8'), '[Unit]\n')
  const failing = machine(t, { fails: 'systemctl restart' })
  await assert.rejects(
    installService(FACTS, failing),
    /ipid\.service does not start: it did not work; see journalctl -u ipid/,
  )
})
