import type { Config } from '../../config/config.ts'
import type { Setting } from '../../config/setting.ts'
import { SETTINGS, type SettingName } from '../../config/settings.ts'

/** Settings whose text names neither a secret nor a person, a company, a host or a place. A new setting is hidden until it is listed. */
const SHOWN: ReadonlySet<string> = new Set<SettingName>([
  ...(['host', 'adminHost', 'dashboardHost', 'httpEngine', 'clickhouseExternal', 'backupEvery', 'backupAt'] as const),
  ...(['defaultData', 'logLevel', 'dashboardFavicons', 'oidcTrustEmail', 'webhookPrivate', 'rdns'] as const),
  ...(['portShared', 'redisFsync'] as const),
])

/** A setting in an archive. */
export interface ShownSetting {
  readonly setting: string
  readonly given: boolean
  /** Absent when it may say more than how ipid works. */
  readonly value?: unknown
}

/**
 * All settings: whether each is given, and the value of those that hold no secret, name or place.
 * @param ofPipeline those that sources and sinks declare
 */
export function shownSettings(config: Config, ofPipeline: readonly Setting<unknown>[]): ShownSetting[] {
  const own = (Object.keys(SETTINGS) as SettingName[]).map((name) => {
    const { env, holdsSecret }: Setting<unknown> = SETTINGS[name]
    return shownSetting(env, config.given.includes(name), config[name], !holdsSecret && SHOWN.has(name))
  })
  const others = ofPipeline.map(({ env, holdsSecret, default: fallback, read }) => {
    const value = config.own[env]
    const isDefault = JSON.stringify(value) === JSON.stringify(fallback === undefined ? undefined : read(fallback))
    return shownSetting(env, !isDefault, holdsSecret ? undefined : value, false)
  })
  return [...own, ...others]
}

function shownSetting(setting: string, given: boolean, value: unknown, textIsShown: boolean): ShownSetting {
  const isShown = typeof value === 'number' || typeof value === 'boolean' || (textIsShown && typeof value === 'string')
  return { setting, given, ...(isShown && { value }) }
}
