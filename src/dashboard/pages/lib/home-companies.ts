import type { HomeAnswer, HomeCompany, RisingCompany } from '../../../../schemas/dashboard/home.ts'

/** A company of the week, by the first kind that it belongs to. */
export type OtherCompany =
  | { readonly kind: 'rising'; readonly company: RisingCompany }
  | { readonly kind: 'newcomer' | 'returned'; readonly company: HomeCompany }

/**
 * The companies of the week after those to look at first, each once. Those that are heating up, new and back come in turn, so that no kind
 * crowds out the others.
 */
export function otherCompanies(
  week: Pick<HomeAnswer, 'to_look_at' | 'rising' | 'newcomers' | 'returned'>,
): readonly OtherCompany[] {
  const shown = new Set(week.to_look_at.map(({ company_id: id }) => id))
  const kinds: readonly (readonly OtherCompany[])[] = [
    week.rising.map((company) => ({ kind: 'rising', company })),
    week.newcomers.map((company) => ({ kind: 'newcomer', company })),
    week.returned.map((company) => ({ kind: 'returned', company })),
  ]
  const longest = Math.max(...kinds.map((kind) => kind.length))
  const inTurn = Array.from({ length: longest }, (_, i) => kinds.flatMap((kind) => kind[i] ?? [])).flat()
  return inTurn.filter(({ company: { company_id: id } }) => !shown.has(id) && shown.add(id))
}
