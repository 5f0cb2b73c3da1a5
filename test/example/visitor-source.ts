import { setting } from '../../src/config/setting.ts'
import { text } from '../../src/config/values.ts'
import { HttpError } from '../../src/http/engine/http-error.ts'
import { parseJson } from '../../src/http/route/parse-json.ts'
import type { Source } from '../../src/pipeline/declaration/source.ts'
import { translatedRoute } from '../../src/pipeline/sources/live/translated.ts'

const settings = {
  platform: setting('VISITOR_PLATFORM', 'name', 'kiosk', 'platform of events of /visitor', text(/^\w+$/, 'a word')),
}

/** `POST /visitor` takes `{"visitor":{"address":…,"at":…},"what":…,"id":…}` and answers `{"taken":true}`, or why not. */
export const visitors: Source<typeof settings> = {
  name: 'visitors',
  lane: 'live',
  settings,
  routes: [
    translatedRoute<typeof settings>({
      method: 'POST',
      path: '/visitor',
      bodyMaxBytes: 10_000,
      translate(body, _exchange, { platform }) {
        const { visitor, what, id } = Object(parseJson(body))
        if (Object(visitor) !== visitor) throw new HttpError('invalid_request', 'visitor is missing')
        const { address, at, ...properties } = visitor
        return [{ ip: address, timestamp: at, event_type: what, event_id: id, platform, properties }]
      },
      answer({ ok, rejected: [fault] }) {
        if (fault !== undefined) return { status: 422, body: refusal(fault.errors[0]!.message) }
        return { status: 200, body: JSON.stringify({ taken: ok === 1 }) }
      },
      // A store that is down is 503 here, as it is for this tool's other servers.
      refuse: ({ status, message }) => ({ status: status === 500 ? 503 : status, body: refusal(message) }),
    }),
  ],
}

function refusal(why: string): string {
  return JSON.stringify({ taken: false, why })
}
