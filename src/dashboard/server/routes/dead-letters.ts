import { ChangeLettersBody, DeadLettersQuery } from '../../../../schemas/dashboard/dead-letters.ts'
import { HttpError } from '../../../http/engine/http-error.ts'
import type { LetterDesk } from '../../redis/letter-desk.ts'
import { type DashboardRoute, json, route } from '../route.ts'

export interface DeadLetterDependencies {
  readonly letters: LetterDesk
}

const PATH = '/api/dead-letters'

/** Lists, retries and discards dead letters, for operators. */
export function deadLetterRoutes({ letters }: DeadLetterDependencies): DashboardRoute[] {
  const access = 'operator'
  const list = route({
    ...{ method: 'GET', path: PATH, access, query: DeadLettersQuery },
    handle: async ({ query }) => found(await letters.list(query.after, query.reason), query.after ?? ''),
  })
  const show = route({
    ...{ method: 'GET', path: `${PATH}/:id`, access },
    handle: async ({ parameters: { id = '' } }) => found(await letters.find(id), id),
  })
  const changes = (['retry', 'discard'] as const).map((verb) =>
    route({
      ...{ method: 'POST', path: `${PATH}/:id/${verb}`, access },
      handle: async ({ parameters: { id = '' } }) => {
        const changed = await letters.change(id, verb)
        if (changed?.result === 'refused') throw new HttpError('conflict', changed.reason)
        return found(changed, id)
      },
    }),
  )
  const changesOfMany = (['retry', 'discard'] as const).map((verb) =>
    route({
      ...{ method: 'POST', path: `${PATH}/${verb}`, access, body: ChangeLettersBody },
      handle: async ({ body }) => found(await letters.changeMany(body, verb), body.after ?? body.newest),
    }),
  )
  return [list, show, ...changes, ...changesOfMany]
}

function found(value: object | undefined, id: string) {
  if (value === undefined) throw new HttpError('not_found', `dead letter ${JSON.stringify(id)} no longer exists`)
  return json(value)
}
