import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { findService } from '../../../src/operations/service/find.ts'
import {
  installService,
  type ServiceFlags,
  type ServiceHost,
  serviceFacts,
  uninstallService,
} from '../../../src/operations/service/service.ts'
import { factsOfUnit, type ServiceFacts, systemdUnit } from '../../../src/operations/service/unit.ts'
import { runCommand } from '../../support/command.ts'
import { blockOf } from '../../support/service-page.ts'

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

test('the line of the page for commands passes every setting as it is written', (t) => {
  const [dir, run] = [
    temporary(t),
    `#!/bin/sh
[ "$1 $2 $3" = '-u ipid --' ] && shift 3 && exec "$@"`,
  ]
  const [file, print] = [
    join(dir, 'ipid.env'),
    'process.stdout.write(process.env.SMTP_URL + process.env.DATA_DIR + process.argv[1])',
  ]
  const url = 'smtp://u:p&$x #"%20\\@h'
  writeFileSync(join(dir, 'runuser'), run, { mode: 0o755 })
  writeFileSync(join(dir, 'ipid'), `#!/bin/sh\nexec '${process.execPath}' -e '${print}' -- "$1"\n`, { mode: 0o755 })
  writeFileSync(file, `# a comment\nSMTP_URL='${url}'\n`)
  const line = blockOf('sudo sh').replaceAll('/etc/ipid/ipid.env', file).replaceAll('sudo ', '')
  const env = { PATH: `${dir}:${process.env.PATH}` }
  const { stdout, stderr } = spawnSync('sh', ['-c', line], { cwd: dir, env, encoding: 'utf8' })
  assert.deepEqual([stdout, stderr], [`${url}/var/lib/ipidalert`, ''])
})

const hasAnalyze = spawnSync('systemd-analyze', ['--version']).status === 0

test('systemd takes the unit and the changes of the page without a warning', {
  skip: hasAnalyze ? false : 'no systemd-analyze',
}, (t) => {
  const dir = temporary(t)
  const root = join(dir, 'a "b" 5% $x')
  mkdirSync(join(root, 'src'), { recursive: true })
  const dropIn = join(dir, 'plain.service.d')
  mkdirSync(dropIn)
  writeFileSync(join(dropIn, 'secrets.conf'), blockOf('[Service]'))
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

/** A machine in a folder. It has only the user nobody. @param log of a service that ends at its start; default: it runs */
function machine(
  t: TestContext,
  {
    fails = '',
    taken = 'none',
    log,
    ...facts
  }: Partial<ServiceHost> & { readonly fails?: string; readonly taken?: string; readonly log?: string } = {},
): TestHost {
  const ran: string[] = []
  const users = new Set(['nobody'])
  const root = temporary(t)
  const start = (name: string) => {
    const unit = readFileSync(join(root, `etc/systemd/system/${name}.service`), 'utf8')
    const run = join(root, factsOfUnit(unit).dataDir!, 'run')
    mkdirSync(run, { recursive: true })
    writeFileSync(join(run, 'instance.json'), '{"pid":7,"url":"http://127.0.0.1:80"}')
  }
  return {
    ...{ hasSystemd: true, isRoot: true, root, ran, ...facts },
    async run(program, args) {
      const line = [program, ...args].join(' ')
      ran.push(line)
      if (fails !== '' && line.includes(fails)) throw new Error('it did not work')
      if (program === 'systemctl' && args[0] === 'cat' && !line.includes(taken)) throw new Error('No files found')
      if (program === 'systemctl' && args[0] === 'restart' && log === undefined) start(args[1]!)
      if (program === 'systemctl' && args[0] === 'show') return `MainPID=7\nNRestarts=${log === undefined ? 0 : 1}\n`
      if (program === 'journalctl') return log!
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
  const running = { url: 'http://127.0.0.1:80', dashboard: undefined }
  assert.deepEqual(done, { unit, createdUser: 'ipid', createdSettings: settings, running })
  assert.equal(readFileSync(unit, 'utf8'), systemdUnit(FACTS))
  assert.equal(statSync(settings).mode & 0o777, 0o600)
  assert.deepEqual(host.ran.slice(-4, -1), [
    ...['systemctl daemon-reload', 'systemctl enable ipid', 'systemctl restart ipid'],
  ])
  assert.ok(host.ran.includes(`runuser -u ipid -- ${process.execPath} /opt/ipid/src/ipid.mjs --version`))
  writeFileSync(settings, 'PORT=80\n')
  assert.deepEqual(await installService({ ...FACTS, root: '/opt/newer' }, host), { unit, running })
  assert.equal(readFileSync(settings, 'utf8'), 'PORT=80\n')
  assert.match(readFileSync(unit, 'utf8'), /\/opt\/newer\/src\/ipid\.mjs start/)

  const left = { user: 'ipid', dataDir: '/var/lib/ipid', environmentFile: '/etc/ipid/ipid.env' }
  assert.deepEqual(await uninstallService('ipid', host), { unit, left })
  assert.deepEqual(host.ran.slice(-2), ['systemctl disable --now ipid', 'systemctl daemon-reload'])
  assert.equal(readFileSync(settings, 'utf8'), 'PORT=80\n', 'settings stay')
  await assert.rejects(uninstallService('ipid', host), /^InputError: there is no .*ipid\.service$/)
})

test('what is missing is said before anything is changed', async (t) => {
  const refused = async (host: TestHost, message: RegExp, facts: ServiceFacts = FACTS) => {
    await assert.rejects(installService(facts, host), message)
    assert.ok(!host.ran.some((line) => /^systemctl (?!cat)/.test(line)), host.ran.join('\n'))
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

test('the data of a service that are gone are not begun anew', async (t) => {
  const host = machine(t)
  await installService(FACTS, host)
  const data = join(host.root, 'var/lib/ipid')
  rmSync(data, { recursive: true })
  mkdirSync(data)
  await assert.rejects(installService(FACTS, host), {
    name: 'InputError',
    message: /^the data of ipid\.service are not in \/var\/lib\/ipid: mount their disk, or bring them back\. To begin/,
  })
  assert.deepEqual(readdirSync(data), [])
  await installService({ ...FACTS, dataDir: '/srv/other' }, host)
  await uninstallService('ipid', host)
  assert.equal((await installService(FACTS, host)).createdUser, undefined)
})

test('an empty disk that root has mounted becomes the folder of data', {
  skip: process.getuid!() === 0 ? false : 'only root gives folders away',
}, async (t) => {
  const host = strangers(t)
  const data = join(host.root, 'var/lib/ipid')
  mkdirSync(join(data, 'lost+found'), { recursive: true })
  await installService(FACTS, host)
  const { uid, mode } = statSync(data)
  assert.deepEqual([uid, mode & 0o777], [65_534, 0o700])
})

test('the service of a folder of data is found by its unit', async (t) => {
  const units = temporary(t)
  const at = (name: string, facts: Partial<ServiceFacts>) =>
    writeFileSync(join(units, `${name}.service`), systemdUnit({ ...FACTS, ...facts, name }))
  at('ipid', {})
  at('second', { dataDir: '/srv/a b', user: 'visits', environmentFile: '/etc/5% x.env' })
  writeFileSync(join(units, 'other.service'), '[Service]\nEnvironment=DATA_DIR=/srv/other\n')
  const found = await findService('/srv/a b', units)
  assert.deepEqual(found, { name: 'second', user: 'visits', dataDir: '/srv/a b', environmentFile: '/etc/5% x.env' })
  assert.equal((await findService('/var/lib/ipid', units))?.name, 'ipid')
  assert.equal(await findService('/srv/other', units), undefined)
  assert.equal(await findService('/var/lib/ipid', join(units, 'none')), undefined)
})

test('a service that ends at its start is an error with the reason in its log', async (t) => {
  const words =
    '{"level":50,"msg":"PORT 8080: another program listens there"}\n{"level":30,"msg":"stopped"}\nipid.service: Failed\n'
  for (const [log, reason] of [
    [words, /tries again every second: PORT 8080: another program listens there\. Mend it, or systemctl stop ipid;/],
    ['ipid: no Redis is found\nipid.service: Failed\n', /every second: no Redis is found\./],
    ['', /every second: its log names no reason\./],
  ] as const) {
    await assert.rejects(installService(FACTS, machine(t, { log })), { name: 'StartupError', message: reason })
  }
})

const factsFor = (flags: ServiceFlags, host: ServiceHost) =>
  serviceFacts(flags, { node: process.execPath, root: '/opt/ipid', path: '/bin' }, host)

test('an installation without flags keeps data, user and settings of the unit that it replaces', async (t) => {
  for (const data of ['/srv/ipid/data', '/srv/a "b" 5% $x\\y']) {
    const host = machine(t)
    const given = await factsFor({ name: 'ipid', data, user: 'visits', settingsFile: '/etc/5% x.env' }, host)
    await installService(given, host)
    const again = await factsFor({ name: 'ipid' }, host)
    assert.deepEqual(again, given)
    await installService(again, host)
    assert.equal((await factsFor({ name: 'ipid', user: 'others' }, host)).user, 'others', 'a flag wins')
    assert.deepEqual((await uninstallService('ipid', host)).left, factsOfUnit(systemdUnit(given)))
  }
  const host = machine(t)
  const { user, dataDir, environmentFile } = await factsFor({ name: 'second' }, host)
  assert.deepEqual([user, dataDir, environmentFile], ['second', '/var/lib/second', '/etc/second/second.env'])
})

test('a new folder of data is private, and its user can reach it', async (t) => {
  const host = machine(t)
  const umask = process.umask(0o077)
  t.after(() => process.umask(umask))
  await installService({ ...FACTS, dataDir: '/srv/ipid/data' }, host)
  const modes = ['srv', 'srv/ipid', 'srv/ipid/data'].map((path) => statSync(join(host.root, path)).mode & 0o777)
  assert.deepEqual(modes, [0o755, 0o755, 0o700])
  assert.ok(host.ran.includes(`runuser -u ipid -- test -w ${join(host.root, 'srv/ipid/data')}`))
  await assert.rejects(
    installService({ ...FACTS, dataDir: '/srv/ipid/data' }, { ...machine(t, { fails: 'test -w' }), root: host.root }),
    /^InputError: the user ipid cannot write to .*every folder above it passable/,
  )
})

/** As `machine`, whose users have the id of nobody. */
function strangers(t: TestContext): TestHost {
  const host = machine(t)
  return { ...host, run: async (...args) => (args[0] === 'id' ? '65534' : await host.run(...args)) }
}

test('a folder of others is not given away with all that is in it', async (t) => {
  const host = strangers(t)
  const folder = join(host.root, 'home')
  mkdirSync(join(folder, 'run'), { recursive: true })
  const install = () => installService({ ...FACTS, dataDir: '/home' }, host)
  await assert.rejects(install(), (error: Error) => {
    assert.match(
      error.message,
      /does not belong to ipid: give --data a folder that does not exist yet, such as .*\/home\/ipid$/,
    )
    return true
  })
  writeFileSync(join(folder, 'run/instance.json'), '{}')
  await assert.rejects(install(), /stop the ipid that uses it, then chown -R ipid: .*\/home$/)
})

test('a name is refused that another service, or the data of another user, has', async (t) => {
  const ssh = machine(t, { taken: 'cat ssh.service' })
  await assert.rejects(
    installService({ ...FACTS, name: 'ssh' }, ssh),
    /^InputError: the machine has another ssh\.service already: give another --name$/,
  )
  for (const [host, user] of [
    [machine(t), 'ipid'],
    [strangers(t), 'nobody'],
  ] as const) {
    mkdirSync(join(host.root, 'var/lib/ipid/of-others'), { recursive: true })
    await assert.rejects(installService({ ...FACTS, user }, host), /belongs to another user: .*or give another --name$/)
    assert.ok(!host.ran.some((line) => /^useradd|^systemctl (?!cat)/.test(line)), host.ran.join('\n'))
  }
  const host = machine(t)
  for (const name of ['-x', '1st', 'a/b', 'A', '', 'x'.repeat(33)])
    await assert.rejects(factsFor({ name }, host), /^InputError: --name ".*": must be 1 to 32 .* begin with a letter$/)
  for (const user of ['-x', '1st', 'a b', ''])
    await assert.rejects(factsFor({ name: 'ipid', user }, host), /^InputError: --user ".*underscores, and begin with a/)
})

test('--print --json prints one JSON value, and changes nothing', async () => {
  const { code, stdout } = await runCommand(['service', 'install', '--print', '--json', '--name', 'ipid-test-print'])
  const { unit, text, installed } = JSON.parse(stdout)
  assert.deepEqual([code, unit, installed], [0, '/etc/systemd/system/ipid-test-print.service', false])
  assert.match(text, /^Environment=DATA_DIR=\/var\/lib\/ipid-test-print /m)
})
