import assert from 'node:assert/strict'
import { test } from 'node:test'
import { removeSegment } from '../../../src/alerts/remove-segment.ts'

test('a segment that the CRM needs is not removed', async () => {
  const removed: string[] = []
  const segments = {
    get: async () => ({ id: 'keen', name: 'Keen' }),
    remove: async (_tenantId: string, id: string) => void removed.push(id),
  }
  const remove = (segment_id?: string) =>
    removeSegment(
      {
        segments: segments as unknown as Parameters<typeof removeSegment>[0]['segments'],
        records: async () => [],
        exports: { list: async () => [] },
        crm: { list: async () => [{ name: 'HubSpot', ...(segment_id !== undefined && { segment_id }) }] },
      },
      'acme',
      'keen',
    )
  await assert.rejects(remove('keen'), /^InputError: the connection to HubSpot needs segment Keen: remove it first$/)
  await remove('other')
  await remove()
  assert.deepEqual(removed, ['keen', 'keen'])
})
