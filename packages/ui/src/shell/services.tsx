import { AudioLines, Bot, Telescope, Waypoints } from 'lucide-react';
import type { ReactNode } from 'react';
import type { LampState } from '../components/Lamp.tsx';

export const SERVICE_NAMES = ['voice', 'agent', 'research', 'switchboard'] as const;

interface Service {
  title: string;
  icon: ReactNode;
  /** What it is for, in a few words. */
  brief: string;
  /** What it is for, in one or two sentences. */
  purpose: string;
}

export const SERVICES: Record<ServiceName, Service> = {
  voice: {
    title: 'Voice',
    icon: <AudioLines aria-hidden />,
    brief: 'Talk to an agent',
    purpose:
      'Talk to an agent and hear it answer. Speech becomes text, the model replies, and you can break in at any time.',
  },
  agent: {
    title: 'Agent',
    icon: <Bot aria-hidden />,
    brief: 'Message it, give it tasks',
    purpose:
      'An agent with memory, notes and tools. People, other agents, and any program that speaks the OpenAI API can give it work.',
  },
  research: {
    title: 'Research',
    icon: <Telescope aria-hidden />,
    brief: 'Ask with sources',
    purpose:
      'Ask a question and get an answer with its sources, or send it away to plan, read and write a report you can check line by line.',
  },
  switchboard: {
    title: 'Switchboard',
    icon: <Waypoints aria-hidden />,
    brief: 'Wire them together',
    purpose:
      'Connects agents, chat platforms and schedules. A message comes in, a route picks who answers, and every step can be followed.',
  },
};

export type ServiceName = (typeof SERVICE_NAMES)[number];

/** Another service of the exchange, as this one sees it. */
export interface ServiceLink {
  name: ServiceName;
  /** Where its page is; none when it does not run. */
  url: string | undefined;
  state: LampState;
}

/** The sign of Trunkline: a lit jack on the trunk line, its cord hanging down, so that it makes a T. */
export function Mark({ className }: { className?: string }) {
  return (
    <svg viewBox="0 0 32 32" aria-hidden className={className}>
      <path
        d="M2.5 11.5h5m17 0h5M16 20v9"
        fill="none"
        stroke="currentColor"
        strokeWidth="2.5"
        strokeLinecap="round"
      />
      <circle cx="16" cy="11.5" r="7.25" fill="none" stroke="currentColor" strokeWidth="2.5" />
      <circle cx="16" cy="11.5" r="3.25" fill="var(--accent)" />
    </svg>
  );
}
