import { BOTS, type Bot } from '../../../schemas/bots.ts'
import { once } from '../rules/sections.ts'
import { SIGNS } from './signs.ts'

/** The bot that alone uses an autonomous system. */
export function botOfSystem(asn: number | undefined): Bot | undefined {
  return asn === undefined ? undefined : systems().get(asn)
}

const systems = once(
  () =>
    new Map(
      (Object.keys(BOTS) as Bot[]).flatMap((bot) => (SIGNS[bot].systems ?? []).map((asn) => [asn, bot] as const)),
    ),
)
