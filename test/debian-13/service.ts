import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { blockOf } from '../support/service-page.ts'
import { stepsOf } from '../support/steps.ts'
import { until } from '../support/until.ts'

/* The page of `ipid service` as written, under a real systemd: test/debian-13/run --boot. It changes the machine, so it runs in that one only. */

/** A process that starts reads its databases first. */
const READY_WITHIN_MS = 60_000
const URL = 'http://127.0.0.1:8080'

const sh = (script: string) => {
  const { status, stdout, stderr } = spawnSync('sh', ['-c', script], { encoding: 'utf8' })
  return { code: status, stdout, stderr, text: stdout + stderr }
}
const must = (script: string) => {
  const ran = sh(script)
  assert.equal(ran.code, 0, `${script}\n${ran.text}`)
  return ran.stdout
}
const ask = (...names: string[]) =>
  names.map((name) => execFileSync('systemctl', ['show', '--value', '-p', name, 'ipid'], { encoding: 'utf8' }).trim())
/** Waits until the service is ready: it then writes the file that commands read. */
const ready = () =>
  until(
    () =>
      JSON.parse(readFileSync('/var/lib/ipid/run/instance.json', 'utf8')) as {
        readonly pid: number
        readonly url: string
      },
    ({ pid }) => String(pid) === ask('MainPID')[0],
    READY_WITHIN_MS,
  )
/** Every process of the service. */
const processes = () =>
  must(
    'cat /sys/fs/cgroup/system.slice/ipid.service/cgroup.procs 2>/dev/null || cat /sys/fs/cgroup/systemd/system.slice/ipid.service/cgroup.procs',
  )
    .trim()
    .split('\n')
    .map(Number)
const titled = (title: string) =>
  processes().find((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(title))

test('ipid as a service of systemd', async (t) => {
  assert.equal(process.env.DISPOSABLE, 'yes', 'this machine is not discarded afterwards')
  const step = stepsOf(t)
  const install = blockOf('sudo ./ipid').split('#')[0]!
  const [command] = blockOf('sudo -u').split('\n') as [string]
  const ipid = (words: string) => must(command.replace('status', words))
  let key = ''
  let sent = 0
  const send = async () => {
    const body = JSON.stringify({ events: [{ ip: '17.253.144.10', event_id: `e${sent}` }] })
    const headers = { 'x-api-key': key, 'content-type': 'application/json' }
    const { status } = await fetch(`${URL}/v1/ingest`, { method: 'POST', headers, body })
    assert.equal(status, 200)
    sent++
  }
  const stored = () =>
    until(
      () => ipid("sql 'SELECT count() FROM events FORMAT TSV'").trim(),
      (count) => count === String(sent),
    )

  // A disk of its own for the data, mounted before the installation.
  mkdirSync('/srv/disk')
  mkdirSync('/var/lib/ipid')
  must('mount --bind /srv/disk /var/lib/ipid')

  await step('an installation that cannot run says why', async () => {
    const port = createServer().listen(8080, '127.0.0.1')
    await once(port, 'listening')
    const { code, stderr } = sh(install)
    assert.equal(code, 1)
    assert.match(stderr, /^ipid: ipid\.service ends at its start, .*: PORT 8080: cannot listen on 127\.0\.0\.1:8080/m)
    port.close()
  })

  await step('install starts it as a user of its own, with no right but that to low ports', async () => {
    const said = must(install)
    assert.match(said, /^ipid\.service runs.*\nAPI: http:\/\/127\.0\.0\.1:8080\ndashboard: /)
    assert.deepEqual(ask('ActiveState', 'User', 'NRestarts'), ['active', 'ipid', '0'])
    for (const pid of processes()) {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8')
      assert.equal(statSync(`/proc/${pid}`).uid, Number(must('id -u ipid')))
      assert.match(status, /^CapBnd:\t0{13}400$/m)
      assert.match(status, /^NoNewPrivs:\t1$/m)
    }
    assert.equal(statSync('/var/lib/ipid').mode & 0o777, 0o700)
    assert.equal(statSync('/etc/ipid/ipid.env').mode & 0o777, 0o600)
  })

  await step('commands of the page find it', async () => {
    assert.match(ipid('status'), /^ok: /)
    key = JSON.parse(ipid('key create demo --json')).key
    await send()
    await stored()
  })

  await step('a killed main process, store or role starts again, and nothing is lost', async () => {
    const [main] = ask('MainPID')
    process.kill(Number(main), 'SIGKILL')
    await until(
      () => ask('MainPID', 'ActiveState'),
      ([pid, state]) => pid !== main && pid !== '0' && state === 'active',
    )
    await ready()
    await send()
    const [now] = ask('MainPID')
    for (const title of ['redis-server', 'embedded/clickhouse', 'ipid ingress']) {
      const pid = titled(title)!
      process.kill(pid, 'SIGKILL')
      await until(
        () => titled(title),
        (found) => found !== undefined && found !== pid,
      )
      await until(
        () => fetch(`${URL}/readyz`),
        ({ ok }) => ok,
      )
      await send()
    }
    assert.deepEqual(ask('MainPID'), [now], 'the main process started its children again')
    await stored()
  })

  await step('an upgrade keeps data, settings and key', async () => {
    writeFileSync('/etc/ipid/ipid.env', "LOG_LEVEL='debug'\nPORT=80\nAPI_URL='http://127.0.0.1:80'\n")
    const [main] = ask('MainPID')
    must('sudo ./ipid service install')
    assert.equal((await ready()).url, 'http://127.0.0.1:80')
    assert.notDeepEqual(ask('MainPID'), [main])
    await stored()
  })

  await step('a setting that is wrong is named by what the messages lead to', async () => {
    writeFileSync('/etc/ipid/ipid.env', "STALL_MS='abc'\n")
    must('systemctl restart ipid')
    await until(
      () => sh(command),
      ({ stderr }) => /journalctl -u ipid -n 20/.test(stderr),
    )
    await until(
      () => must('journalctl -u ipid -n 20'),
      (log) => /STALL_MS "abc": /.test(log),
    )
    const { findings } = JSON.parse(sh(command.replace('status', 'doctor --json')).stdout) as {
      readonly findings: readonly { readonly check: string; readonly remedy?: string }[]
    }
    const { remedy } = findings.find(({ check }) => check === 'service')!
    assert.match(sh(remedy!.slice(0, remedy!.lastIndexOf(';'))).stdout, /STALL_MS "abc"/)
    writeFileSync('/etc/ipid/ipid.env', "API_URL='https://events.example.com'\n")
    must('systemctl restart ipid')
    await ready()
    assert.match(ipid('source create demo web'), /src="https:\/\/events\.example\.com\/s\/web\//)
  })

  await step('without its disk it does not start anew', async () => {
    must('systemctl stop ipid && umount /var/lib/ipid')
    sh('systemctl start ipid')
    assert.equal(ask('ActiveState')[0], 'inactive')
    assert.match(sh(install).stderr, /^ipid: the data of ipid\.service are not in \/var\/lib\/ipid: mount their disk/m)
    assert.deepEqual(readdirSync('/var/lib/ipid'), [])
    must('mount --bind /srv/disk /var/lib/ipid && systemctl start ipid')
    await ready()
    await stored()
  })

  await step(
    'a secret comes from a file that only root reads, and is in no environment; folders of the page can be written',
    async () => {
      writeFileSync('/etc/ipid/smtp-url', 'smtp://user:hidden-word@127.0.0.1:2525\n', { mode: 0o600 })
      must('install -d -o ipid /mnt/backups')
      writeFileSync('/etc/ipid/ipid.env', "ARCHIVE_URL='file:///mnt/backups'\nARCHIVE_PART_AGE_MS=200\n")
      mkdirSync('/etc/systemd/system/ipid.service.d')
      writeFileSync('/etc/systemd/system/ipid.service.d/override.conf', blockOf('[Service]'))
      must('systemctl daemon-reload && systemctl restart ipid')
      await ready()
      for (const pid of processes()) assert.doesNotMatch(readFileSync(`/proc/${pid}/environ`, 'utf8'), /hidden-word/)
      assert.match(must('sudo -u ipid cat /run/credentials/ipid.service/smtp-url'), /hidden-word/)
      ipid('tenant set demo --archive on')
      await send()
      await until(
        () => readdirSync('/mnt/backups', { recursive: true }),
        (files) => files.some((file) => String(file).endsWith('.gz')),
      )
    },
  )

  await step('its output is in the journal, and it stops without a rest', async () => {
    const pids = processes()
    must('systemctl stop ipid')
    assert.deepEqual(ask('ActiveState', 'Result', 'ExecMainStatus'), ['inactive', 'success', '0'])
    for (const pid of pids) assert.equal(existsSync(`/proc/${pid}`), false)
    assert.match(must('journalctl -u ipid -o cat'), /"msg":"listening"/)
    must('systemctl start ipid')
    await ready()
    await stored()
  })

  await step('uninstall leaves data and settings', () => {
    must('sudo ./ipid service uninstall')
    assert.equal(ask('LoadState')[0], 'not-found')
    assert.ok(existsSync('/var/lib/ipid/run') && existsSync('/etc/ipid/ipid.env'))
  })
})
