import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { takePort } from './ports.ts'
import { installDebian, onPath } from './programs.ts'
import { until } from './until.ts'

const NAME = 'prometheus'

/** A running Prometheus. */
export interface Prometheus {
  /** Names of the alerts that fire now, sorted, each once. */
  firing(): Promise<string[]>
}

/** Whether there is a Prometheus, installed if need be, or the reason why there is none. */
export async function findPrometheus(): Promise<{ readonly binary: string } | string> {
  try {
    if (onPath([NAME]) === undefined) await installDebian(NAME)
  } catch (error) {
    return `no Prometheus, and it cannot be installed: ${(error as Error).message.split('\n')[0]}`
  }
  const binary = onPath([NAME])
  return binary === undefined ? 'no Prometheus is on PATH' : { binary }
}

/**
 * Starts one that asks `target`, a host with a port, every `everyS` seconds, and judges the rules as often. It ends with the test.
 * @param rules the content of a file of rules
 */
export async function startPrometheus(
  t: { after(hook: () => Promise<void>): void },
  {
    binary,
    target,
    rules,
    everyS = 1,
  }: { readonly binary: string; readonly target: string; readonly rules: string; readonly everyS?: number },
): Promise<Prometheus> {
  const dir = await mkdtemp(join(tmpdir(), 'ipid-prometheus-'))
  await writeFile(join(dir, 'rules.yml'), rules)
  const config = {
    global: { scrape_interval: `${everyS}s`, scrape_timeout: `${everyS}s`, evaluation_interval: `${everyS}s` },
    rule_files: ['rules.yml'],
    scrape_configs: [{ job_name: 'ipid', static_configs: [{ targets: [target] }] }],
  }
  await writeFile(join(dir, 'prometheus.yml'), stringify(config))
  const address = `127.0.0.1:${takePort()}`
  const child = spawn(
    binary,
    [
      `--config.file=${join(dir, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(dir, 'data')}`,
      `--web.listen-address=${address}`,
      '--log.level=error',
    ],
    { stdio: 'ignore' },
  )
  const ended = once(child, 'exit')
  t.after(async () => {
    child.kill('SIGKILL')
    await ended
    await rm(dir, { recursive: true, force: true })
  })
  const ask = async (path: string) => {
    const answer = await fetch(`http://${address}${path}`, { headers: { connection: 'close' } })
    if (!answer.ok) throw new Error(`Prometheus answers ${answer.status} on ${path}`)
    return answer
  }
  await until(
    () => ask('/-/ready'),
    () => true,
  )
  return {
    async firing() {
      const { data } = (await (await ask('/api/v1/alerts')).json()) as {
        data: { alerts: { state: string; labels: { alertname: string } }[] }
      }
      const names = data.alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname)
      return [...new Set(names)].sort()
    },
  }
}
