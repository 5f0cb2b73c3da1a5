import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Verdict } from '../../../src/operations/status/system-status.ts'
import { runCommand } from '../../support/command.ts'
import type { TestInstance } from '../../support/instance.ts'
import { findPrometheus, type Prometheus, startPrometheus } from '../../support/prometheus.ts'
import type { CleanUp } from './clean-up.ts'

/** The operator's view of a fault. */
export interface Seen {
  /** The worst verdict of `ipid status` while it lasted, with its facts. */
  readonly during: Pick<Verdict, 'level'> & { readonly facts: readonly string[] }
  /** The worst verdict of the page System while it lasted; undefined: it showed none. */
  readonly system: Verdict['level'] | undefined
  readonly alerts: readonly string[]
  /** Seconds from the end of the fault until the status was ok; undefined: it was not within `WELL_WITHIN_MS`. */
  readonly wellAfterS: number | undefined
  /** The same for alerts: until none fired. */
  readonly quietAfterS: number | undefined
}

/** The shipped rules for a Prometheus that asks every 2 s in place of 15 s: all waits are shorter by the same factor. */
const FACTOR = 7.5
const RULES = readFileSync(new URL('../../../src/telemetry/monitoring/alerts.yml', import.meta.url), 'utf8')
  .replace(/for: (\d+)(m|s)/g, (_, n, unit) => `for: ${Math.round((n * (unit === 'm' ? 60 : 1)) / FACTOR)}s`)
  .replace(/\[(\d+)m\]/g, (_, n) => `[${Math.round((n * 60) / FACTOR)}s]`)
const SCRAPE_S = 15 / FACTOR
/** A process counts as absent 20 s after its last report; an alert of a minute takes 8 s on that scale. */
const SEEN_WITHIN_MS = 30_000
/** Facts of the last minute keep a warning for a minute. */
const WELL_WITHIN_MS = 120_000
const LOOK_EVERY_MS = 500
const LEVELS = ['ok', 'warning', 'stalled'] as const

/** Looks at status, System and alerts of a service while faults last, and after them. */
export class Watch {
  readonly #instance: TestInstance
  readonly #prometheus: Prometheus
  readonly #system: SystemPage
  #seen = { level: 'ok' as Verdict['level'], facts: new Set<string>(), alerts: new Set<string>() }

  private constructor(instance: TestInstance, prometheus: Prometheus, system: SystemPage) {
    this.#instance = instance
    this.#prometheus = prometheus
    this.#system = system
  }

  static async start(instance: TestInstance, cleanUp: CleanUp): Promise<Watch> {
    const found = await findPrometheus()
    if (typeof found === 'string') throw new Error(found)
    const target = new URL(instance.ready.metrics_url).host
    const prometheus = await startPrometheus(cleanUp, { ...found, target, rules: RULES, everyS: SCRAPE_S })
    return new Watch(instance, prometheus, await SystemPage.open(instance))
  }

  /** Inflicts a fault that lasts until status, System and alerts showed it, or for as long as an alert may take. */
  async of(inflict: (last: (ms: number) => Promise<void>) => Promise<unknown>): Promise<Seen> {
    this.#seen = { level: 'ok', facts: new Set(), alerts: new Set() }
    this.#system.worst = undefined
    let over = false
    const watching = (async () => {
      while (!over) {
        await this.#look()
        await sleep(LOOK_EVERY_MS)
      }
    })()
    const isSeen = () =>
      this.#seen.level !== 'ok' && (this.#system.worst ?? 'ok') !== 'ok' && this.#seen.alerts.size > 0
    const last = async (ms: number) => {
      const untilMs = performance.now() + SEEN_WITHIN_MS
      await sleep(ms)
      while (!isSeen() && performance.now() < untilMs) await sleep(LOOK_EVERY_MS)
    }
    try {
      await inflict(last)
    } catch (error) {
      over = true
      await watching
      throw error
    }
    const endMs = performance.now()
    // A kill is over at once, and seen later.
    while (!isSeen() && performance.now() < endMs + SEEN_WITHIN_MS) await sleep(LOOK_EVERY_MS)
    over = true
    await watching
    let [wellMs, quietMs]: (number | undefined)[] = []
    while ((wellMs === undefined || quietMs === undefined) && performance.now() < endMs + WELL_WITHIN_MS) {
      if ((await this.#verdict()).level === 'ok') wellMs ??= performance.now()
      if ((await this.#firing()).length === 0) quietMs ??= performance.now()
      await sleep(LOOK_EVERY_MS)
    }
    const since = (ms: number | undefined) => (ms === undefined ? undefined : Math.round((ms - endMs) / 1_000))
    const { level, facts, alerts } = this.#seen
    return {
      during: { level, facts: [...facts].sort() },
      system: this.#system.worst,
      alerts: [...alerts].sort(),
      wellAfterS: since(wellMs),
      quietAfterS: since(quietMs),
    }
  }

  async #look(): Promise<void> {
    const [{ level, facts }, alerts] = await Promise.all([this.#verdict(), this.#firing()])
    if (LEVELS.indexOf(level) > LEVELS.indexOf(this.#seen.level)) this.#seen.level = level
    for (const name of facts) this.#seen.facts.add(name)
    for (const name of alerts) this.#seen.alerts.add(name)
  }

  #firing(): Promise<string[]> {
    return this.#prometheus.firing().catch(() => [])
  }

  async #verdict(): Promise<{ readonly level: Verdict['level']; readonly facts: readonly string[] }> {
    const { code, stdout } = await runCommand(['status', '--json'], { env: { DATA_DIR: this.#instance.dataDir } })
    if (stdout === '') return { level: LEVELS[code] ?? 'stalled', facts: ['nothing runs'] }
    const { verdict } = JSON.parse(stdout) as { verdict: Verdict }
    if (LEVELS[code] !== verdict.level) throw new Error(`status ends with ${code} and says ${verdict.text}`)
    return { level: verdict.level, facts: verdict.facts.map(({ name }) => name) }
  }
}

/** The page System of an operator who opened it before the faults. */
class SystemPage {
  /** The worst verdict since it was last cleared. */
  worst: Verdict['level'] | undefined
  readonly #instance: TestInstance
  readonly #cookie: string

  private constructor(instance: TestInstance, cookie: string) {
    this.#instance = instance
    this.#cookie = cookie
    void this.#read()
  }

  static async open(instance: TestInstance): Promise<SystemPage> {
    const link = new URL((instance.ready as unknown as { dashboard_url: string }).dashboard_url)
    const answer = await fetch(new URL('/sign-in', link), {
      method: 'POST',
      headers: { origin: link.origin, 'content-type': 'application/x-www-form-urlencoded' },
      body: link.searchParams.toString(),
      redirect: 'manual',
    })
    const [cookie] = (answer.headers.get('set-cookie') ?? '').split(';')
    if (!cookie) throw new Error(`the dashboard answers a sign-in with ${answer.status}`)
    return new SystemPage(instance, cookie)
  }

  /** For as long as the process lives, again and again, as a browser does. */
  async #read(): Promise<void> {
    const { origin } = new URL((this.#instance.ready as unknown as { dashboard_url: string }).dashboard_url)
    for (;;) {
      try {
        const answer = await fetch(`${origin}/api/system/live`, { headers: { cookie: this.#cookie } })
        let text = ''
        for await (const bytes of answer.body!.pipeThrough(new TextDecoderStream())) {
          text = (text + bytes).slice(-200_000)
          for (const [, level] of text.matchAll(/"verdict":\{"level":"(ok|warning|stalled)"/g))
            this.#note(level as Verdict['level'])
          text = text.slice(text.lastIndexOf('\n') + 1)
        }
      } catch {
        // Asked again.
      }
      await sleep(LOOK_EVERY_MS, undefined, { ref: false })
    }
  }

  #note(level: Verdict['level']): void {
    if (this.worst === undefined || LEVELS.indexOf(level) > LEVELS.indexOf(this.worst)) this.worst = level
  }
}
