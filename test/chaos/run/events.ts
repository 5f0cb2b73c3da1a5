/** An event of the load. Its number determines its outcome. */
export interface ChaosEvent {
  readonly fate: 'stored' | 'filtered' | 'invalid_ip'
  readonly ip: string
  readonly account_id: string | undefined
  /** `YYYY-MM-DD` of its timestamp. */
  readonly day: string
}

/** The stored values of the event. */
export interface StoredEvent {
  readonly account: string
  readonly company: string
  readonly ip: string
  readonly day: string
}

/** Two of twenty are special: one comes from a cloud, one has no address. A fifth has an account named by the sender. */
export function eventOf(n: number): ChaosEvent {
  const day = `2026-11-${String(1 + (n % 9)).padStart(2, '0')}`
  const account_id = n % 5 === 0 ? `account-${n % 45}` : undefined
  if (n % 20 === 7) return { fate: 'filtered', ip: `3.0.0.${n % 200}`, account_id, day }
  if (n % 20 === 13) return { fate: 'invalid_ip', ip: 'nowhere', account_id, day }
  return { fate: 'stored', ip: `${n % 2 === 0 ? 17 : 18}.1.${n % 30}.${n % 7}`, account_id, day }
}

/** The event as sent. @param key its event id; events without one have it in their properties, as `tag` */
export function bodyOf(key: string, withId: boolean): object {
  const { ip, account_id, day } = eventOf(numberOf(key))
  const timestamp = `${day}T12:00:00Z`
  const named = withId ? { event_id: key } : { properties: { tag: key } }
  return { ip, timestamp, ...(account_id === undefined ? {} : { account_id }), ...named }
}

/** The expected row; undefined when it is not stored. */
export function storedOf(n: number): StoredEvent | undefined {
  const { fate, ip, account_id, day } = eventOf(n)
  if (fate !== 'stored') return undefined
  const company = ip.startsWith('17.') ? 'fruit.example' : 'school.example'
  return { account: account_id ?? company, company, ip, day }
}

/** The number after the last hyphen of a key. */
export function numberOf(key: string): number {
  return Number(key.slice(key.lastIndexOf('-') + 1))
}
