import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { onPath } from './programs.ts'
import { until } from './until.ts'

/** For `skip`: why nginx cannot run here. */
export const noNginx = onPath(['nginx']) === undefined && 'nginx is not installed (apt-get install nginx)'

/** For `skip`: why Caddy cannot run here. */
export const noCaddy = onPath(['caddy']) === undefined && 'Caddy is not installed (apt-get install caddy)'

/** Starts nginx with the servers of a configuration. @param url answered as soon as it has started */
export async function startNginx(t: TestContext, http: string, url: string): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'nginx-'))
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${dir}/${name};`,
  )
  const top = `daemon off; master_process off; pid ${dir}/pid; error_log ${dir}/errors; events {}`
  await writeFile(join(dir, 'nginx.conf'), `${top}\nhttp { access_log off; ${temporary.join(' ')}\n${http}\n}\n`)
  await startProxy(t, ['nginx', '-p', dir, '-c', join(dir, 'nginx.conf'), '-e', join(dir, 'errors')], dir, url)
}

/** Starts Caddy with a Caddyfile. */
export async function startCaddy(t: TestContext, caddyfile: string, url: string): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'caddy-'))
  await writeFile(join(dir, 'Caddyfile'), caddyfile)
  await startProxy(t, ['caddy', 'run', '--config', join(dir, 'Caddyfile')], dir, url)
}

async function startProxy(t: TestContext, command: readonly string[], dir: string, url: string): Promise<void> {
  const env = { ...process.env, HOME: dir, XDG_DATA_HOME: dir, XDG_CONFIG_HOME: dir }
  const proxy = spawn(command[0]!, command.slice(1), { stdio: 'ignore', env })
  const ended = new Promise((resolve) => proxy.once('exit', resolve))
  t.after(async () => {
    // Caddy would wait for its clients.
    proxy.kill('SIGKILL')
    await ended
    await rm(dir, { recursive: true, force: true })
  })
  await until(
    () =>
      fetch(url, { redirect: 'manual' }).then(
        () => true,
        () => false,
      ),
    (isUp) => isUp,
  )
}
