import { describe, expect, it } from 'vitest';
import { defineErrors, HttpError } from './http-error.ts';

const errors = defineErrors({
  peer_unknown: [404, 'Peer connection not found'],
  skill_refused: [
    403,
    (skill: { slug: string; user: string }) => `skill '${skill.slug}' not for '${skill.user}'`,
  ],
});

describe('defineErrors', () => {
  it('makes an error with code, status and fixed words', () => {
    const error = errors.peer_unknown();
    expect(error).toBeInstanceOf(HttpError);
    expect(error).toMatchObject({ code: 'peer_unknown', status: 404, message: 'Peer connection not found' });
  });

  it('makes the words from arguments', () => {
    expect(errors.skill_refused({ slug: 'cook', user: 'ann' }).message).toBe("skill 'cook' not for 'ann'");
  });

  it('carries details, headers and the cause', () => {
    const cause = new Error('disk');
    const error = errors.peer_unknown({ details: [1], headers: { 'retry-after': '5' }, cause });
    expect(error).toMatchObject({ details: [1], headers: { 'retry-after': '5' }, cause });
  });

  it('tells code and status without making an error', () => {
    expect(errors.skill_refused.code).toBe('skill_refused');
    expect(errors.skill_refused.status).toBe(403);
  });
});
