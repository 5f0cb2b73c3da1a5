import type { TestContext } from 'node:test'
import type { UploadAnswer, UploadChoice, UploadList, UploadPreview } from '../../schemas/dashboard/uploads.ts'
import { pipelineJudge } from '../../src/dashboard/role/role.ts'
import { sessionRoute } from '../../src/dashboard/server/routes/session.ts'
import { type UploadDependencies, uploadRoutes } from '../../src/dashboard/server/routes/uploads.ts'
import { enrichmentOf, NOTHING_KNOWN } from '../../src/enrichment/answers/answer.ts'
import type { Address } from '../../src/pipeline/event/address.ts'
import type { Enricher } from '../../src/pipeline/event/enrichment.ts'
import { UploadedFiles } from '../../src/pipeline/sources/batch/redis/uploaded-files.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { RedisTenantStore } from '../../src/tenants/redis/tenant-store.ts'
import { startBatch } from './batch.ts'
import { type DashboardClient, startDashboard } from './dashboard.ts'

export const CREATED = '2026-01-01T00:00:00.000Z'

const apple = enrichmentOf({
  noise: false,
  classification: 'business',
  quality: 90,
  data: { business_name: 'Apple', domain: 'apple.com', country_code: 'US' },
  companyId: 'apple.com',
})
const host = enrichmentOf({ noise: true, classification: 'hosting', quality: 70, data: {}, companyId: '' })
/** 17.… is Apple, 203.… a hosting provider, all others are unknown. */
const known: Enricher = {
  enrich: ({ text }) => (text.startsWith('17.') ? apple : text.startsWith('203.') ? host : NOTHING_KNOWN),
}
/** The preview of an event of Apple. */
export const APPLE_PREVIEW = {
  ...{ status: 'ok', company: 'Apple', domain: 'apple.com', country_code: 'US', classification: 'business' },
  ...{ quality: 90, rule: null, filtered_as: null },
}

/** Uploads of the dashboard as its pages send them, on a real Redis. */
export async function startUploads(t: TestContext, limits?: UploadDependencies['limits']) {
  const { redis, client, jobs } = await startBatch(t)
  const tenants = new RedisTenantStore(client)
  for (const id of ['acme', 'other']) {
    await tenants.createTenant({ id, plan: 'starter', archive: false, addresses: 'full', createdAt: CREATED })
  }
  const asked: string[] = []
  const prefetch = async (addresses: readonly Address[]) => void asked.push(...addresses.map(({ text }) => text))
  const judge = pipelineJudge({ enricher: known, hostnames: { prefetch } })
  const uploads = { jobs, uploadedFiles: new UploadedFiles(client), openJobsMax: 3, judge, limits }
  const routes = [sessionRoute({ tenants, version: '1.2.3', apiUrl: null }), ...uploadRoutes(uploads)]
  const dashboard = await startDashboard(t, client, routes)
  const member = await dashboard.signIn({ role: 'admin', tenant: { id: 'acme', createdAt: CREATED } })
  const send = (
    file: string | Buffer,
    choice: Partial<UploadChoice> = {},
    { what = 'uploads', tenant = 'acme', by = member, raw = false } = {},
  ) =>
    fetch(`${dashboard.url}/api/tenants/${tenant}/${what}`, {
      method: 'POST',
      headers: { cookie: by.cookie, 'x-csrf-token': by.csrfToken },
      body: bodyOf(file, raw ? undefined : { name: 'file', ...choice }),
    })
  const preview = async (file: string | Buffer, choice: Partial<UploadChoice> = {}) => {
    const response = await send(file, { whole: true, ...choice }, { what: 'upload-preview' })
    return { status: response.status, preview: (await response.json()) as UploadPreview & { detail: string } }
  }
  const upload = async (file: string | Buffer, choice: Partial<UploadChoice> = {}) => {
    const response = await send(file, choice)
    return { status: response.status, answer: (await response.json()) as UploadAnswer & { detail: string } }
  }
  const list = async (by: DashboardClient = member) => (await by.read<UploadList>('/api/tenants/acme/uploads')).jobs
  /** Jobs and uploads that have any key. */
  const kept = async () => [
    await client.hlen(keys.openJobs()),
    (await list()).length,
    (await client.keys(keys.upload('*'))).length,
    new Set((await client.keys(`${keys.chunk('*', '')}*`)).map((name) => name.split('}')[0])).size,
    (await client.keys(keys.chunks('*'))).length,
  ]
  return { redis, client, jobs, tenants, asked, dashboard, member, send, preview, upload, list, kept }
}

function bodyOf(file: string | Buffer, choice: object | undefined): Uint8Array {
  const line = choice === undefined ? '' : `${JSON.stringify(choice)}\n`
  return new Uint8Array(Buffer.concat([Buffer.from(line), Buffer.from(file)]))
}

export const CSV = 'Visitor IP,When,Page\n17.0.0.1,2026-11-22 08:00,/a\n\n17.0.0.2,soon,/b\nnone,,/c\n'
