import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { type TestContext, test } from 'node:test'
import { webSetup } from '../../src/pipeline/sources/web-setup.ts'
import { startInstance } from '../support/instance.ts'
import { takePort } from '../support/ports.ts'
import { onPath } from '../support/programs.ts'
import { type CreatedSource, createSource } from '../support/source-sdks.ts'
import { until } from '../support/until.ts'
import { noCaddy, noNginx, startCaddy, startNginx } from '../support/web-servers.ts'

/* The texts to paste for the script tag, in the programs that they are for. */

function codeOf({ blocks }: Pick<CreatedSource, 'blocks'>, title: string): string {
  const found = blocks.filter((block) => block.title.startsWith(title))
  assert.equal(found.length, 1, title)
  return found[0]!.code
}

interface WebServer {
  readonly name: string
  readonly skip: string | false
  /** Starts it on a port with the printed text. The visitor is the header `x-visitor`, as a CDN before it would name it. */
  start(t: TestContext, code: string, port: number): Promise<void>
}

const SERVERS: readonly WebServer[] = [
  {
    name: 'nginx',
    skip: noNginx,
    start: (t, code, port) =>
      startNginx(
        t,
        `server { listen 127.0.0.1:${port}; set_real_ip_from 127.0.0.1; real_ip_header X-Visitor; ${code} }`,
        `http://127.0.0.1:${port}/`,
      ),
  },
  {
    name: 'Caddy',
    skip: noCaddy,
    start: (t, code, port) =>
      startCaddy(t, `{\n  admin off\n}\nhttp://127.0.0.1:${port} {\n${code}\n}\n`, `http://127.0.0.1:${port}/`),
  },
]

const skipAll = SERVERS.every(({ skip }) => skip !== false) && 'neither nginx nor Caddy is installed'

test('a web server passes a path of the site on as printed, with the address of its client only', {
  skip: skipAll,
}, async (t) => {
  const instance = await startInstance(t, { SINK_LINGER_MS: '100' })
  for (const { name, skip, start } of SERVERS)
    await t.test(name, { skip }, async (t) => {
      const source = await createSource(instance, 'web')
      const port = takePort()
      await start(t, codeOf(source, name), port)
      const [, path] = /src="(.+)\.js"/.exec(codeOf(source, 'The tag for a path of your site'))!
      const site = `http://127.0.0.1:${port}${path}`
      const script = await fetch(`${site}.js`)
      assert.deepEqual([script.status, (await script.text()).includes('window.ipid')], [200, true])

      const isNamed = name === 'nginx'
      const headers = {
        ...(isNamed && { 'x-visitor': '17.0.0.7' }),
        // A visitor may send any header.
        ...{ 'x-forwarded-for': '17.9.9.9', 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox/145.0' },
        // More than the header section that every engine takes.
        cookie: `a=${'x'.repeat(4_000)}`,
      }
      const events = [{ id: `by ${name}`, type: 'page', at: Date.now(), url: 'https://shop.example/' }]
      const sent = await fetch(site, { method: 'POST', headers, body: JSON.stringify({ events, sent_at: Date.now() }) })
      assert.equal(sent.status, 204, await sent.text())
      const image = await fetch(`${site}/page.gif`, { headers: { ...headers, referer: 'https://shop.example/b' } })
      assert.deepEqual([image.status, image.headers.get('content-type')], [200, 'image/gif'])
      // Without another name the visitor is this machine, which belongs to no company.
      const counted = isNamed
        ? `SELECT count(), any(ip), uniq(ip) FROM events WHERE source_id = '${source.source_id}'`
        : `SELECT sum(events), any(classification), uniq(classification) FROM outcomes WHERE source_id = '${source.source_id}' AND status = 'filtered'`
      const expected = isNamed ? '2\t17.0.0.7\t1' : '2\treserved\t1'
      await until(
        () => instance.query(counted),
        (found) => found === expected,
      )
    })
})

const php = onPath(['php', 'php8.4', 'php8.3', 'php8.2'])

test('WordPress prints one script tag for the text to paste', {
  skip: php === undefined && 'PHP is not installed',
}, () => {
  const key = `pub_${'0'.repeat(40)}`
  const code = codeOf({ blocks: webSetup('https://ipid.example.com', key).map(withSample) }, 'WordPress')
  // The parts of WordPress that the text calls: hooks, and the tag of an enqueued script.
  const printed = execFileSync(
    php!,
    [
      '-r',
      `
    $hooks = [];
    function add_action($name, $call) { global $hooks; $hooks[$name] = $call; }
    function add_filter($name, $call, $priority, $arguments) { add_action($name, $call); assert($arguments === 2); }
    function wp_enqueue_script($handle, $src, $needs, $version) { global $script; $script = [$handle, $src, $needs, $version]; }
    ${code}
    $hooks['wp_enqueue_scripts']();
    [$handle, $src, $needs, $version] = $script;
    assert($needs === [] && $version === null);
    echo $hooks['script_loader_tag']("<script src='$src' id='$handle-js'></script>", $handle);
    echo $hooks['script_loader_tag']("<script src='/other.js'></script>", 'other');`,
    ],
    { encoding: 'utf8' },
  )
  assert.equal(
    printed,
    `<script async src='https://ipid.example.com/s/web/${key}.js' id='ipid-js'></script><script src='/other.js'></script>`,
  )
})

function withSample({ title, code, isSample = false }: ReturnType<typeof webSetup>[number]) {
  return { title, code, is_sample: isSample }
}
